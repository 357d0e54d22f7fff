#pragma once
// What to try that several families of the catalogue name.

#include "base/tr.h"
#include "diagnose/postmortem/catalogue.h"

namespace berth {

inline constexpr LogEntry::Step smaller_batch{
    as_key("lower the batch and accumulate gradients to keep its effect, or use mixed precision or "
           "activation checkpointing"),
    ""};
inline constexpr LogEntry::Step who_is_on_it{as_key("see who else is on the device"), "berth ps"};
inline constexpr LogEntry::Step find_the_kernel{
    as_key("wait for each kernel, so that the trace names the one that failed"),
    "export CUDA_LAUNCH_BLOCKING=1"};
inline constexpr LogEntry::Step ask_health{as_key("see whether the device itself is well"),
                                           "berth health"};
inline constexpr LogEntry::Step build_for_card{
    as_key(
        "install a build of the framework that was made for this card (its page of downloads says "
        "which); of own extensions, build them for it"),
    ""};

}  // namespace berth
