"""Makes the checkpoints of tests/golden/checkpoints with TensorFlow, and what TensorFlow reads from them, values.json.

    make_checkpoints.py FOLDER

One V2 checkpoint, the same in two shards, one of V1 and the same in two shards: a tensor of every type that can be
stored, and two that are stored in slices, of rows and of columns.
"""

import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

FOLDER = sys.argv[1]
SMALL = tf.dtypes.experimental
OF_V1 = {"float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "complex64",
         "complex128", "bool", "string", "qint8", "quint8", "qint32"}


def make_tensors():
    tensors = {}
    for dtype in (tf.float32, tf.float64, tf.float16, tf.bfloat16):
        tensors["real/" + dtype.name] = tf.constant([[0.5, -1.25, 3.0], [0.001, float("inf"), float("nan")]], dtype)
    for dtype in (tf.int8, tf.int16, tf.int32, tf.int64):
        tensors["integer/" + dtype.name] = tf.constant([[-3, 2], [127, -128]], dtype)
    for dtype in (tf.uint8, tf.uint16, tf.uint32, tf.uint64):
        tensors["unsigned/" + dtype.name] = tf.constant([3, 200], dtype)
    tensors["integer/large"] = tf.constant([2**62, -(2**63)], tf.int64)
    tensors["unsigned/large"] = tf.constant([2**64 - 1, 1], tf.uint64)
    for dtype in (tf.complex64, tf.complex128):
        tensors["complex/" + dtype.name] = tf.constant([1 + 2j, -0.5j], dtype)
    tensors["bool"] = tf.constant([True, False, True])
    tensors["scalar"] = tf.constant(7.5)
    tensors["empty"] = tf.zeros([0, 3])
    tensors["text"] = tf.constant([[b"a", b'bc"\xff'], [b"", b"\n long" * 30]])
    for name in ("float8_e5m2", "float8_e4m3fn"):
        tensors["float8/" + name] = tf.cast([0.5, -2.0, 448.0], getattr(SMALL, name))
    tensors["small/int4"] = tf.cast(tf.constant([1, 7, -3], tf.int8), SMALL.int4)
    tensors["small/uint4"] = tf.cast(tf.constant([1, 7, 13], tf.uint8), SMALL.uint4)
    for dtype, base in ((tf.qint8, tf.int8), (tf.quint8, tf.uint8), (tf.qint16, tf.int16), (tf.quint16, tf.uint16),
                        (tf.qint32, tf.int32)):
        tensors["quantised/" + dtype.name] = tf.bitcast(tf.constant([1, 100], base), dtype)
    return tensors


ROWS, COLUMNS = np.arange(28, dtype=np.float32).reshape(7, 4), np.arange(15, dtype=np.float64).reshape(3, 5)
SLICES = [("part/rows", "7 4 0,3:-", ROWS[:3]), ("part/rows", "7 4 3,2:-", ROWS[3:5]),
          ("part/rows", "7 4 5,2:-", ROWS[5:]),
          ("part/columns", "3 5 -:0,3", COLUMNS[:, :3]), ("part/columns", "3 5 -:3,2", COLUMNS[:, 3:])]


def save(is_v1, path, tensors, slices):
    names = [*tensors, *(name for name, _, _ in slices)]
    places = [""] * len(tensors) + [place for _, place, _ in slices]
    values = [*tensors.values(), *(tf.constant(value) for _, _, value in slices)]
    if is_v1:
        tf.raw_ops.SaveSlices(filename=path, tensor_names=names, shapes_and_slices=places, data=values)
    else:
        tf.raw_ops.SaveV2(prefix=path, tensor_names=names, shape_and_slices=places, tensors=values)


def halves(tensors):
    names = list(tensors)
    half = len(names) // 2
    parts = [dict.fromkeys(names[:half]), dict.fromkeys(names[half:])]
    return [({name: tensors[name] for name in part}, slices)
            for part, slices in zip(parts, (SLICES[:2] + SLICES[3:4], SLICES[2:3] + SLICES[4:]))]


def plain(value):
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, complex):
        return [value.real, value.imag]
    return None if isinstance(value, float) and np.isnan(value) else value


def main():
    tensors = make_tensors()
    save(False, os.path.join(FOLDER, "v2.ckpt"), tensors, SLICES)
    shards = []
    for number, part in enumerate(halves(tensors)):
        shards.append(os.path.join(FOLDER, "temp", "part-%05d-of-00002" % number))
        os.makedirs(os.path.dirname(shards[-1]), exist_ok=True)
        save(False, shards[-1], *part)
    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=shards,
                                  destination_prefix=os.path.join(FOLDER, "v2-sharded.ckpt"),
                                  delete_old_dirs=True)
    old = {name: tensor for name, tensor in tensors.items() if tensor.dtype.name in OF_V1}
    save(True, os.path.join(FOLDER, "v1.ckpt"), old, SLICES)
    for number, part in enumerate(halves(old)):
        save(True, os.path.join(FOLDER, "v1-sharded.ckpt-%05d-of-00002" % number), *part)
    reader, values = tf.train.load_checkpoint(os.path.join(FOLDER, "v2.ckpt")), {}
    types = reader.get_variable_to_dtype_map()
    for name, shape in sorted(reader.get_variable_to_shape_map().items()):
        array = np.asarray(reader.get_tensor(name))
        values[name] = [types[name].name, "x".join(map(str, shape)) or "1", plain(array.tolist())]
    with open(os.path.join(FOLDER, "values.json"), "w", encoding="utf-8") as file:
        text = json.dumps({"values": values, "of_v1": sorted(old) + ["part/columns", "part/rows"]}, indent=0)
        file.write(text.replace("Infinity", "9e999") + "\n")  # as tfprof writes it: JSON has no word for it


main()
