#include "top/input.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace berth::top {

namespace {

constexpr char escape_byte = 0x1B;
constexpr std::size_t longest_sequence = 64;  // more is no sequence of any terminal
constexpr std::string_view paste_begins = "200";
/// The end of a paste: ESC, then this.
constexpr std::string_view paste_end = "[201~";

constexpr std::array<std::pair<char, Key::Name>, 7> letters = {{{'A', Key::Name::up},
                                                                {'B', Key::Name::down},
                                                                {'C', Key::Name::right},
                                                                {'D', Key::Name::left},
                                                                {'H', Key::Name::home},
                                                                {'F', Key::Name::end},
                                                                {'Z', Key::Name::back_tab}}};
constexpr std::array<std::pair<std::string_view, Key::Name>, 7> numbers = {
    {{"1", Key::Name::home},
     {"3", Key::Name::erase},
     {"4", Key::Name::end},
     {"5", Key::Name::page_up},
     {"6", Key::Name::page_down},
     {"7", Key::Name::home},
     {"8", Key::Name::end}}};
constexpr std::array<std::pair<char, Key::Name>, 9> control_keys = {{{'\r', Key::Name::enter},
                                                                     {'\n', Key::Name::enter},
                                                                     {'\t', Key::Name::tab},
                                                                     {0x7F, Key::Name::backspace},
                                                                     {0x08, Key::Name::backspace},
                                                                     {0x03, Key::Name::interrupt},
                                                                     {0x1A, Key::Name::suspend},
                                                                     {0x0C, Key::Name::redraw},
                                                                     {0x15, Key::Name::clear}}};

unsigned value(char byte) { return static_cast<unsigned char>(byte); }

/// Bytes that a character with this first byte has; 0: it begins none.
std::size_t length_of(char first) {
  const unsigned byte = value(first);
  if (byte >= 0xC2 && byte < 0xE0) return 2;
  if (byte >= 0xE0 && byte < 0xF0) return 3;
  if (byte >= 0xF0 && byte < 0xF5) return 4;
  return 0;
}

}  // namespace

std::vector<Input> InputDecoder::feed(std::string_view bytes) {
  for (const char byte : bytes) take(byte);
  return std::exchange(found_, {});
}

std::optional<Duration> InputDecoder::patience() const {
  if (state_ == InputState::ground) return std::nullopt;
  // The rest of a paste may be on its way for long, and must not be taken for keys.
  if (state_ == InputState::paste) return std::chrono::seconds(3);
  return std::chrono::milliseconds(50);
}

std::vector<Input> InputDecoder::silence() {
  if (state_ == InputState::escape) key(Key::Name::escape);
  state_ = InputState::ground;
  held_.clear();
  return std::exchange(found_, {});
}

void InputDecoder::take(char byte) {
  switch (state_) {
    case InputState::ground:
      return take_ground(byte);
    case InputState::utf8:
      return take_utf8(byte);
    case InputState::escape:
      return take_escape(byte);
    case InputState::control:
      return take_control(byte);
    case InputState::single_shift:
      state_ = InputState::ground;
      if (byte == escape_byte) return take_ground(byte);
      return end_control(byte);
    case InputState::text:  // an answer of the terminal, ended by BEL or ESC and a backslash
      if (byte == 0x07) state_ = InputState::ground;
      if (byte == escape_byte) state_ = InputState::text_escape;
      return;
    case InputState::text_escape:
      state_ = InputState::ground;
      if (byte != '\\') take_escape(byte);
      return;
    case InputState::mouse:
      held_ += byte;
      if (held_.size() < wanted_) return;
      held_.clear();
      state_ = InputState::ground;
      return;
    case InputState::paste:
      return take_paste(byte);
  }
}

void InputDecoder::take_ground(char byte) {
  held_.clear();
  if (byte == escape_byte) {
    state_ = InputState::escape;
    return;
  }
  for (const auto& [control, name] : control_keys) {
    if (byte == control) return key(name);
  }
  if (value(byte) < 0x20) return;
  if (value(byte) < 0x80) {
    found_.push_back(Key{.name = Key::Name::character, .text = std::string(1, byte)});
    return;
  }
  wanted_ = length_of(byte);
  if (wanted_ == 0) return;
  held_ = byte;
  state_ = InputState::utf8;
}

void InputDecoder::take_utf8(char byte) {
  state_ = InputState::ground;
  if ((value(byte) & 0xC0U) != 0x80U) return take_ground(byte);
  held_ += byte;
  if (held_.size() < wanted_) {
    state_ = InputState::utf8;
    return;
  }
  // A character that printable() would escape was not typed by a person.
  if (printable(held_) == held_) {
    found_.push_back(Key{.name = Key::Name::character, .text = held_});
  }
}

void InputDecoder::take_escape(char byte) {
  held_.clear();
  switch (byte) {
    case '[':
      state_ = InputState::control;
      return;
    case 'O':
      state_ = InputState::single_shift;
      return;
    case ']':
    case 'P':
    case 'X':
    case '^':
    case '_':
      state_ = InputState::text;
      return;
    case escape_byte:
      key(Key::Name::escape);
      return;  // the second may begin a sequence
    default:
      // Alt and a key: nothing here has a meaning with Alt, and it must not be the key alone.
      state_ = InputState::ground;
  }
}

void InputDecoder::take_control(char byte) {
  if (byte == escape_byte || held_.size() >= longest_sequence) {
    state_ = InputState::ground;
    return take_ground(byte);
  }
  const bool is_final = value(byte) >= 0x40 && value(byte) < 0x7F;
  if (!is_final) {
    held_ += byte;
    return;
  }
  state_ = InputState::ground;
  end_control(byte);
}

void InputDecoder::end_control(char final) {
  const std::string parameters = std::exchange(held_, {});
  if (final == 'M' && parameters.empty()) {  // a mouse of the old kind: three bytes follow
    wanted_ = 3;
    state_ = InputState::mouse;
    return;
  }
  if (parameters.starts_with('<')) {
    held_ = parameters;
    end_mouse(final);
    held_.clear();
    return;
  }
  const std::string_view first = split(parameters, ';').front();
  if (final == '~') {
    if (first == paste_begins) state_ = InputState::paste;
    for (const auto& [number, name] : numbers) {
      if (first == number) key(name);
    }
    return;
  }
  for (const auto& [letter, name] : letters) {
    if (letter == final) key(name);
  }
}

// "<buttons;column;row" and M (pressed) or m (released).
void InputDecoder::end_mouse(char final) {
  const auto parts = split(std::string_view(held_).substr(1), ';');
  if (parts.size() != 3 || (final != 'M' && final != 'm')) return;
  const auto buttons = parse_unsigned(parts[0]);
  const auto column = parse_unsigned(parts[1]);
  const auto row = parse_unsigned(parts[2]);
  constexpr std::uint64_t largest_screen = 10'000;
  if (!buttons || !column || !row || *column == 0 || *row == 0) return;
  if (*column > largest_screen || *row > largest_screen) return;
  constexpr std::uint64_t moving = 32;
  constexpr std::uint64_t wheel = 64;
  if ((*buttons & moving) != 0 || *buttons >= 128) return;
  Mouse mouse{.what = final == 'M' ? Mouse::What::press : Mouse::What::release,
              .button = static_cast<int>(*buttons & 3U),
              .column = static_cast<int>(*column) - 1,
              .row = static_cast<int>(*row) - 1};
  if ((*buttons & wheel) != 0) {
    if (mouse.button > 1) return;
    mouse.what = mouse.button == 0 ? Mouse::What::wheel_up : Mouse::What::wheel_down;
    mouse.button = 0;
  }
  found_.push_back(mouse);
}

void InputDecoder::take_paste(char byte) {
  if (byte == escape_byte) {
    held_ = byte;
    return;
  }
  if (held_.empty()) return;
  held_ += byte;
  if (!paste_end.starts_with(std::string_view(held_).substr(1))) {
    held_.clear();
  } else if (held_.size() == paste_end.size() + 1) {
    held_.clear();
    state_ = InputState::ground;
  }
}

}  // namespace berth::top
