#pragma once
// Asking a context's helper, shared by looks and claims.

#include "base/clock.h"
#include "lib/objects.h"

namespace berth::lib {

/// A look takes 5 s at most where a card hangs, and 30 s where a driver starts its cards.
constexpr Duration patience_with_looks = std::chrono::seconds(60);

[[nodiscard]] Failure no_context();

/// How a helper of this context is started.
[[nodiscard]] Result<HelperPlace> helper_place(berth_context& context);
/// The context's own, started where there is none, or where it is that of the process we were
/// forked from.
[[nodiscard]] Result<HelperClient*> helper_of(berth_context& context);
/// A look in steps is under way: its helper answers nothing else.
[[nodiscard]] bool is_looking(const berth_context& context);
/// The helper's answer, notes told on the way.
[[nodiscard]] Result<Message> answer_to(berth_context& context, const Json& question);

/// CUDA has read its variables already, and that matters; nothing: it has not, or does not.
[[nodiscard]] Outcome too_late(bool after_init);

/// What a message says went wrong; nothing: it says no such thing.
[[nodiscard]] Outcome failure_in(const Message& message);
/// A sentence for people, which it tells.
[[nodiscard]] bool is_note(const Message& message,
                           const std::function<void(const std::string&)>& note);

}  // namespace berth::lib
