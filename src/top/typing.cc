// Keys while something is asked of the person: a filter, a number, which signal, yes or no.

#include <csignal>

#include "base/text.h"
#include "top/keys.h"
#include "top/steps.h"

namespace berth::top {

namespace {

constexpr std::size_t longest_typed = 100;

void erase_character(std::string& text) {
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) {
    text.pop_back();
  }
  if (!text.empty()) text.pop_back();
}

void apply_typed(State& state) {
  if (state.mode == Mode::filter) state.filter = state.typed;
  if (state.mode == Mode::user) state.user = state.typed;
  if (state.mode == Mode::filter || state.mode == Mode::user) arrange(state);
}

void end_nice(State& state) {
  const auto nice =
      parse_signed(state.typed.starts_with('+') ? state.typed.substr(1) : state.typed);
  if (!nice || *nice < -20 || *nice > 19) {
    state.mode = Mode::browse;
    say(state, std::string(tr("a nice value is a number from -20 to 19")), false);
    return;
  }
  ask_for_nice(state, static_cast<int>(*nice));
}

}  // namespace

void start_typing(State& state, Mode mode) {
  state.mode = mode;
  state.typed = mode == Mode::filter ? state.filter : mode == Mode::user ? state.user : "";
  state.message.reset();
}

// A filter acts at once, a user's name and a nice value at Enter.
void type(State& state, const Key& key) {
  switch (key.name) {
    case Key::Name::character:
      if (state.typed.size() < longest_typed) state.typed += key.text;
      break;
    case Key::Name::backspace:
    case Key::Name::erase:
      erase_character(state.typed);
      break;
    case Key::Name::clear:
      state.typed.clear();
      break;
    case Key::Name::escape:
      if (state.mode != Mode::nice) state.typed.clear();
      apply_typed(state);
      state.mode = Mode::browse;
      return;
    case Key::Name::enter:
      if (state.mode == Mode::nice) return end_nice(state);
      apply_typed(state);
      state.mode = Mode::browse;
      return;
    case Key::Name::up:
    case Key::Name::down:
    case Key::Name::page_up:
    case Key::Name::page_down:
      return move(state, key.name);
    default:
      return;
  }
  if (state.mode == Mode::filter) apply_typed(state);
}

void choose_signal(State& state, const Key& key) {
  if (key.name == Key::Name::enter) return ask_for_signal(state, SIGTERM, "TERM");
  for (const SignalKey& one : signal_keys) {
    if (key.name != Key::Name::character || key.text != std::string(1, one.key)) continue;
    return ask_for_signal(state, one.number, std::string(one.name));
  }
  state.mode = Mode::browse;
}

// Only a y is a yes: every other key leaves things as they are.
void answer(State& state, const Key& key) {
  const bool yes = key.name == Key::Name::character && (key.text == "y" || key.text == "Y");
  if (yes && state.question) {
    state.wanted.push_back(state.question->if_yes);
    state.marked.clear();
  } else {
    say(state, std::string(tr("nothing was done")), true);
  }
  state.question.reset();
  state.mode = Mode::browse;
}

}  // namespace berth::top
