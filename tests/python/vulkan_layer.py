"""Khronos' validation layer: what it says of programs, and of each test that runs on a device of Vulkan's."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LAVAPIPE = pathlib.Path("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")
LAYER = pathlib.Path("/usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json")
# Errors and warnings, each as often as it comes; accesses of commands that do not wait for each other as well.
SETTINGS = """
khronos_validation.log_filename = {log}
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.report_flags = error,warn
khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
khronos_validation.enable_message_limit = false
"""

needs_lavapipe = pytest.mark.skipif(
    not LAVAPIPE.exists(), reason="Mesa's CPU device is not installed (Debian: mesa-vulkan-drivers)"
)
needs_layer = pytest.mark.skipif(
    not (LAVAPIPE.exists() and LAYER.exists()),
    reason="the validation layer or a device is not installed (Debian: vulkan-validationlayers, mesa-vulkan-drivers)",
)


class Messages:
    """What the layer says of this process, whose Vulkan starts later."""

    def __init__(self, folder):
        self.log = _settings(folder, os.environ)
        self.seen = 0

    def fresh(self):
        """Those since the last call."""
        text = self.log.read_text() if self.log.exists() else ""
        fresh = text[self.seen :] if len(text) >= self.seen else text  # a process that this one started began anew
        self.seen = len(text)
        return fresh


def _settings(folder, environment):
    """Turns the layer on in an environment; the file that it writes to."""
    log = folder / "validation.txt"
    (folder / "settings.txt").write_text(SETTINGS.format(log=log))
    environment["VK_INSTANCE_LAYERS"] = "VK_LAYER_KHRONOS_validation"
    environment["VK_LAYER_SETTINGS_PATH"] = str(folder / "settings.txt")
    return log


def run_validated(folder, *command, **environment):
    """Runs a command on Mesa's CPU device; its output, and the layer's messages: "" when it has nothing to say.

    Without the layer it runs as well, and there is no message.
    """
    environment = {**os.environ, "VK_DRIVER_FILES": str(LAVAPIPE), "VK_ICD_FILENAMES": str(LAVAPIPE), **environment}
    if not LAYER.exists():
        return _output(command, environment), ""
    log = _settings(folder, environment)
    log.unlink(missing_ok=True)
    said = _output(command, environment)
    assert log.exists(), "the layer writes its file when an instance is made"
    return said, log.read_text()


def _output(command, environment):
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=600)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout
