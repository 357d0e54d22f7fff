#pragma once
// The shim that stands in for one driver's libcuda.so.1. It is a template (guard/shim/,
// guard/image.h) with exactly the dynamic symbols of that driver's file. A program finds each name
// that it would find there, and no other. Pure: bytes in, bytes out.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "guard/shared_object.h"

namespace berth {

/// Whether these are the bytes of an image.
[[nodiscard]] bool is_guard_image(std::string_view file);

/// The bytes of a libcuda.so.1 that shows what `driver` does and opens it at `driver_path`.
/// `needs_libdl`: dlopen is not in libc (glibc before 2.34). unsupported: the driver shows more
/// names than there are trampolines, or is for another machine.
[[nodiscard]] Result<std::string> make_guard_image(std::string_view shim_template,
                                                   const SharedObject& driver,
                                                   const std::string& driver_path,
                                                   bool needs_libdl);

/// A shared object without any content, for the 32-bit programs of a machine. Their loader would
/// complain of a 64-bit one on stderr.
[[nodiscard]] std::string empty_object_for_32_bits(std::uint16_t machine);

}  // namespace berth
