#pragma once
// How an exported function of the fake library is written. Most are a getter of one reading of the
// machine that it plays (machine.h), in one line.

#include "machine.h"

// An exported function. It replaces the weak one of that name in stubs.cc, which is generated from
// the symbol lists.
#define FAKE_NVML extern "C" __attribute__((visibility("default"))) Return

// A getter of one number: NAME(device, TYPE*) answers the reading MEMBER of the snapshot's device.
#define FAKE_NVML_GETTER(NAME, TYPE, MEMBER)                                \
  FAKE_NVML NAME(Handle handle, TYPE* out) {                                \
    return on_device(#NAME, handle, [&](const Call& call, const auto& it) { \
      return call.put(out, it.data.MEMBER);                                 \
    });                                                                     \
  }

#define FAKE_NVML_TEXT(NAME, MEMBER)                                        \
  FAKE_NVML NAME(Handle handle, char* out, unsigned length) {               \
    return on_device(#NAME, handle, [&](const Call& call, const auto& it) { \
      return call.put_text(out, length, it.data.MEMBER);                    \
    });                                                                     \
  }
