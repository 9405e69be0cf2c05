"""Programs on Mesa's CPU device of Vulkan's under Khronos' validation layer, and what it said about them."""

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


def run_validated(folder, *command, code=0, **environment):
    """Runs a command; its output, and the layer's messages: "" when it has nothing to say.

    Without the layer it runs as well, and there is no message.
    """
    log = folder / "validation.txt"
    (folder / "settings.txt").write_text(SETTINGS.format(log=log))
    log.unlink(missing_ok=True)
    layer = {"VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation", "VK_LAYER_SETTINGS_PATH": str(folder / "settings.txt")}
    device = {"VK_DRIVER_FILES": str(LAVAPIPE), "VK_ICD_FILENAMES": str(LAVAPIPE)}
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **device, **(layer if LAYER.exists() else {}), **environment},
        timeout=600,
    )
    assert done.returncode == code, done.stdout[-4000:] + done.stderr[-4000:]
    assert log.exists() == LAYER.exists(), "the layer writes its file when an instance is made"
    return done.stdout, log.read_text() if log.exists() else ""
