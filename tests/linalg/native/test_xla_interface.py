"""Byte offsets from a C header: as a compiler lays structs out, and refused where unknown."""

import ctypes
import re

import pytest

from directgp.linalg.native.xla_interface import InterfaceError, interface, read_header

HEADER = """
#define XLA_FFI_API_MAJOR 0
#define XLA_FFI_API_MINOR 7
typedef enum {
  XLA_FFI_Extension_Metadata = 1,  // a comment; with a semicolon
} XLA_FFI_Kind;
typedef uint32_t XLA_FFI_Traits;
typedef struct XLA_FFI_Inner {
  XLA_FFI_Kind kind;
  int64_t* sizes; /* of what */
  XLA_FFI_Traits traits;
} XLA_FFI_Inner;
struct XLA_FFI_Strange {
  long double precise;
};
struct XLA_FFI_Outer {
  size_t struct_size;
  int major;
  XLA_FFI_Inner inner;
  void (*deleter)(void* object);
  const struct XLA_FFI_Outer* next;
  _XLA_FFI_API_STRUCT_FIELD(XLA_FFI_Error_Create);
  int32_t last;
};
"""


class Inner(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int), ("sizes", ctypes.c_void_p), ("traits", ctypes.c_uint32))


class Outer(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("major", ctypes.c_int),
        ("inner", Inner),
        ("deleter", ctypes.c_void_p),
        ("next", ctypes.c_void_p),
        ("Error_Create", ctypes.c_void_p),
        ("last", ctypes.c_int32),
    )


def test_structs_are_laid_out_as_in_c():
    found = read_header(HEADER)
    assert found.version == (0, 7) and found.metadata == 1
    for struct in (Inner, Outer):
        own = found.structs[struct.__name__]
        assert own.size == ctypes.sizeof(struct)
        assert own.offsets == {name: getattr(struct, name).offset for name, _ in struct._fields_}


def test_a_struct_that_is_not_understood_may_not_be_used():
    with pytest.raises(InterfaceError, match=r"no field Strange\.precise"):
        read_header(HEADER).offset("Strange", "precise")
    with pytest.raises(InterfaceError, match=r"no field Outer\.minor"):
        read_header(HEADER).offset("Outer", "minor")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("MAJOR 0", "MAJOR 1"), "has version 1.7, not 0.x"),
        (("#define XLA_FFI_API_MINOR 7", ""), "has nothing like"),
        (("XLA_FFI_Extension_Metadata = 1", "NONE = 1"), "has nothing like"),
    ],
)
def test_another_interface_is_refused(change, message):
    with pytest.raises(InterfaceError, match=re.escape(message)):
        read_header(HEADER.replace(*change))


def test_the_installed_header_has_what_the_handler_needs():
    found = interface()
    for struct, field in [
        ("CallFrame", "args"),
        ("CallFrame", "rets"),
        ("Buffer", "dims"),
        ("Api", "ThreadPool_Schedule"),
        ("Metadata_Extension", "metadata"),
    ]:
        assert found.offset(struct, field) > 0
