#pragma once
// What a person does at the terminal, decoded from its bytes. Pure: a read may end in the middle of
// a sequence. Unknown sequences are swallowed whole. So a terminal's answer or a pasted text is
// never taken for keys.

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"

namespace berth::top {

struct Key {
  enum class Name {
    character,
    enter,
    escape,
    tab,
    back_tab,
    backspace,
    erase,
    up,
    down,
    left,
    right,
    home,
    end,
    page_up,
    page_down,
    interrupt,  // Ctrl-C
    suspend,    // Ctrl-Z
    redraw,     // Ctrl-L
    clear,      // Ctrl-U
  };
  Name name = Name::character;
  std::string text;  // of a character: its UTF-8
  friend bool operator==(const Key&, const Key&) = default;
};

struct Mouse {
  enum class What { press, release, wheel_up, wheel_down };
  What what = What::press;
  int button = 0;  // 0 left, 1 middle, 2 right
  int column = 0;  // from 0
  int row = 0;
  friend bool operator==(const Mouse&, const Mouse&) = default;
};

using Input = std::variant<Key, Mouse>;

class InputDecoder {
 public:
  [[nodiscard]] std::vector<Input> feed(std::string_view bytes);
  /// How long to wait for the rest of a sequence that has begun. Nothing: none has.
  [[nodiscard]] std::optional<Duration> patience() const;
  /// Nothing came within patience(): a lone ESC was the Escape key, the rest of a sequence is lost.
  [[nodiscard]] std::vector<Input> silence();

 private:
  enum class InputState {
    ground,
    utf8,
    escape,
    control,
    single_shift,
    text,
    text_escape,
    mouse,
    paste
  };

  void take(char byte);
  void take_ground(char byte);
  void take_utf8(char byte);
  void take_escape(char byte);
  void take_control(char byte);
  void take_paste(char byte);
  void end_control(char final);
  void end_mouse(char final);
  void key(Key::Name name) { found_.push_back(Key{.name = name, .text = {}}); }

  InputState state_ = InputState::ground;
  std::string held_;        // bytes of the sequence so far
  std::size_t wanted_ = 0;  // utf8, mouse: how many it needs
  std::vector<Input> found_;
};

}  // namespace berth::top
