"""Asks a board what is in pictures: the network of shapes.py runs there (shapes_server.c), over a serial line.

python examples/firmware/shapes_client.py --port /dev/ttyACM0                   a board (stty -F /dev/ttyACM0 raw -echo)
python examples/firmware/shapes_client.py --emulate build/firmware/server.elf   an emulated one
"""

import argparse
import subprocess

import numpy as np
import shapes

import metate as mt

EMULATOR = ("qemu-system-arm", "-M", "mps2-an386", "-display", "none", "-monitor", "none", "-serial", "stdio", "-kernel")


def seen_by(remote: mt.rpc.Remote, images: np.ndarray) -> np.ndarray:
    """The scores of each picture."""
    session = remote.session("classify")
    for name in ("filters", "weights", "bias"):
        session.set_input(name, remote.values[name])  # in the board's flash
    session.set_input("features", np.zeros(shapes.FEATURES, np.int8))
    session.set_input("scores", np.zeros(shapes.CLASSES, np.int32))
    scores = []
    for image in images:
        session.set_input("image", image)
        session.run()
        scores.append(session.get_output("scores"))
    session.close()
    return np.array(scores)


def show(remote: mt.rpc.Remote, count: int) -> None:
    images, classes = shapes.pictures(count, np.random.default_rng(2))
    best = seen_by(remote, images).argmax(1)
    for guess, truth in zip(best, classes, strict=True):
        print(f"{shapes.NAMES[truth]:>15}: {'seen' if guess == truth else f'taken for {shapes.NAMES[guess]}'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    board = parser.add_mutually_exclusive_group(required=True)
    board.add_argument("--port", metavar="FILE")
    board.add_argument("--emulate", metavar="PROGRAM")
    parser.add_argument("--count", type=int, default=10, help="pictures (default: %(default)s)")
    parsed = parser.parse_args()
    if parsed.port:
        with open(parsed.port, "r+b", buffering=0) as line:
            show(mt.rpc.connect(line), parsed.count)
    else:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with subprocess.Popen([*EMULATOR, parsed.emulate], **pipes) as emulator:
            try:
                show(mt.rpc.connect((emulator.stdout, emulator.stdin)), parsed.count)
            finally:
                emulator.kill()
