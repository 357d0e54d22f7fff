#pragma once
// Asking a context's helper, shared by looks and claims.

#include "lib/objects.h"

namespace berth::lib {

[[nodiscard]] Failure no_context();

/// How a helper of this context is started.
[[nodiscard]] Result<HelperPlace> helper_place(berth_context& context);
/// An idle helper, to be given back. Nothing: there is none, or it belongs to the process we were
/// forked from.
[[nodiscard]] std::optional<HelperClient> take_idle_helper(berth_context& context);

/// Asks in steps. busy: another question in steps is under way.
[[nodiscard]] Result<void> begin(berth_context& context, berth_context::Asked asked,
                                 const Json& question);
/// The answer, notes told on the way; nothing: not yet.
[[nodiscard]] Result<std::optional<Message>> advance(berth_context& context,
                                                     berth_context::Asked asked);
/// The same, waited for.
[[nodiscard]] Result<Message> answer_to(berth_context& context, berth_context::Asked asked,
                                        const Json& question);
/// What is polled for the next step, and when at the latest.
void tell_poll(const berth_context& context, int* fd, int* due_ms);

/// CUDA has read its variables already, and that matters; nothing: it has not, or does not.
[[nodiscard]] Outcome too_late(bool after_init);

/// What a message says went wrong; nothing: it says no such thing.
[[nodiscard]] Outcome failure_in(const Message& message);
/// A sentence for people, which it tells.
[[nodiscard]] bool is_note(const Message& message,
                           const std::function<void(const std::string&)>& note);

}  // namespace berth::lib
