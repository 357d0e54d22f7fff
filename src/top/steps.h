#pragma once
// Steps of update() that its files share.

#include "top/model.h"

namespace berth::top {

/// The rows anew, and the focus on a device that is shown.
void arrange(State& state);
/// A key that moves: the text of a panel where one is open, else the cursor.
void move(State& state, Key::Name name);
/// Filter and user as they are, the others with nothing.
void start_typing(State& state, Mode mode);
/// A key while a line is typed.
void type(State& state, const Key& key);
void choose_signal(State& state, const Key& key);
/// A key while a question stands.
void answer(State& state, const Key& key);

}  // namespace berth::top
