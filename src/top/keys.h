#pragma once
// The keys while one browses: what each does, what the help says of it, and what the footer says.

#include <array>
#include <csignal>
#include <span>
#include <string_view>

#include "top/model.h"

namespace berth::top {

/// Beneath the picture, for those who do not know the keys.
struct Hint {
  int place = 0;  // from the left; 0: not there
  std::string_view keys;
  std::string_view word;  // goes through tr()
  bool of_recording = false;
};

struct KeyAction {
  using Act = void (*)(State&, const Key&);
  constexpr KeyAction() = default;
  constexpr KeyAction(std::string_view any_of, Act does, Hint said = {})
      : typed(any_of), act(does), hint(said) {}
  constexpr KeyAction(Key::Name named, Act does, Hint said = {})
      : name(named), act(does), hint(said) {}

  Key::Name name = Key::Name::character;
  std::string_view typed;  // of a character: one of these
  Act act = nullptr;       // null: there is no more
  Hint hint;
};

/// A line of the help.
struct Binding {
  std::string_view keys;  // goes through tr()
  std::string_view what;  // goes through tr()
  std::array<KeyAction, 6> actions = {};
};
[[nodiscard]] std::span<const Binding> bindings();

struct SignalKey {
  char key;
  int number;
  std::string_view name;
};
/// While one is asked which signal.
inline constexpr std::array<SignalKey, 8> signal_keys = {{{'t', SIGTERM, "TERM"},
                                                          {'i', SIGINT, "INT"},
                                                          {'k', SIGKILL, "KILL"},
                                                          {'h', SIGHUP, "HUP"},
                                                          {'1', SIGUSR1, "USR1"},
                                                          {'2', SIGUSR2, "USR2"},
                                                          {'s', SIGSTOP, "STOP"},
                                                          {'c', SIGCONT, "CONT"}}};

}  // namespace berth::top
