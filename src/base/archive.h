#pragma once
// Archive: what a type names its members to, once for every direction. A type has one function
//
//   void walk(Archive& archive, Problem& problem) {
//     archive.member("source", problem.source);
//     archive.member("device", problem.device);  // an optional: null where there is none
//   }
//
// and with it its JSON, written and read (base/json_archive.h), and its place on the probe's wire
// (probe/probe_process/wire.cc). An archive that writes changes nothing of what it walks.

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/reading.h"
#include "base/sentence.h"
#include "base/units.h"

namespace berth {

/// A value whose type the data tells: a cell of the field table.
using Scalar = std::variant<std::string, bool, std::uint64_t, std::int64_t, double>;

/// How a member stands where there may be none. `required` has to be there; `plain` keeps its
/// default; `nullable` is null (also an empty text). `sparse` is left out: a reading that nobody
/// took, a false, an empty text or list. `worded` is for readings: left out where nobody took it,
/// else the reason's word stands in the value's place.
enum class Form { required, plain, nullable, sparse, worded };

[[nodiscard]] constexpr bool may_be_absent(Form form) {
  return form != Form::required && form != Form::plain;
}

class Archive {
 public:
  Archive() = default;
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;
  virtual ~Archive() = default;

  [[nodiscard]] virtual bool is_reading() const = 0;
  /// It has keys and words, for people and other programs. Else both ends are the same program.
  [[nodiscard]] virtual bool is_text() const = 0;

  /// False after a mistake in what is read; everything read then is empty.
  [[nodiscard]] virtual bool is_good() const { return true; }
  virtual void mistake(Sentence) {}
  /// A mistake in the value being read: "it has …" where it has no name.
  virtual void wrong(const Sentence& what) { mistake(what); }
  /// False: the value being read is wrong, and counts as absent.
  [[nodiscard]] virtual bool is_right() const { return true; }

  virtual void scalar(bool& value) = 0;
  virtual void scalar(std::int64_t& value) = 0;
  virtual void scalar(std::uint64_t& value) = 0;
  virtual void scalar(double& value) = 0;
  virtual void scalar(std::string& value) = 0;
  virtual void scalar(Scalar& value) = 0;

  /// Begins a member's value, to be closed; false: it has none, and `why`, if given, says why.
  [[nodiscard]] virtual bool open(std::string_view key, bool there, Form form, Absent* why) = 0;
  virtual void close() {}
  /// Whether the item that begins is there; else it is null, or the word of `why`.
  [[nodiscard]] virtual bool has_value(bool there, Absent* why = nullptr) = 0;
  virtual void begin_object() {}
  virtual void end_object() {}
  /// The object that is written has its "why" also where no reading is absent.
  virtual void always_why() {}
  /// How many items follow, each behind next_item(): `count`, or of a list that is read no more.
  virtual std::size_t begin_list(std::size_t count) = 0;
  virtual void next_item() {}
  virtual void end_list() {}
  /// The keys of the object that is read, where it tells them.
  [[nodiscard]] virtual std::vector<std::string_view> keys() const { return {}; }

  template <class T>
  void member(std::string_view key, T& value, Form form = Form::plain);
  template <class T>
  void member(std::string_view key, std::optional<T>& value, Form form = Form::nullable);
  template <class T>
  void member(std::string_view key, Reading<T>& reading, Form form = Form::nullable);
  /// A list that somebody else may have written: of at most so many items.
  template <class T>
  void member(std::string_view key, std::vector<T>& list, std::size_t most,
              Form form = Form::plain);
  /// Follows from the others: written for readers of the text, never read.
  template <class T>
  void derived(std::string_view key, T value) {
    if (is_text() && !is_reading()) member(key, value);
  }
  void derived(std::string_view key, std::string_view text, Form form = Form::plain) {
    std::string copy(text);
    if (is_text() && !is_reading()) member(key, copy, form);
  }
  /// A sentence, by its English.
  template <class T>
    requires requires(const T& said) { said.english(); }
  void derived(std::string_view key, const T& said, Form form) {
    derived(key, said.english(), form);
  }
  /// An object that is no type: `walk_members` names what it has.
  template <class WalkMembers>
  void object(std::string_view key, const WalkMembers& walk_members, Form form = Form::plain) {
    if (!open(key, true, form, nullptr)) return;
    begin_object();
    walk_members();
    end_object();
    close();
  }
  /// One of derived values, or null.
  template <class WalkMembers>
  void derived_object(std::string_view key, bool there, const WalkMembers& walk_members) {
    if (!is_text() || is_reading()) return;
    there ? object(key, walk_members) : void(open(key, false, Form::nullable, nullptr));
  }
  /// A list of such objects: `walk_item` names the members of each.
  template <class Items, class WalkItem>
  void derived_list(std::string_view key, const Items& items, const WalkItem& walk_item) {
    if (!is_text() || is_reading() || !open(key, true, Form::plain, nullptr)) return;
    begin_list(std::size(items));
    for (const auto& item : items) {
      next_item();
      begin_object();
      walk_item(item);
      end_object();
    }
    end_list();
    close();
  }
};

// --- one value, in any archive --------------------------------------------------------------

/// A class: an object of the members that its walk() names.
template <class T>
void put(Archive& archive, T& value) {
  archive.begin_object();
  walk(archive, value);
  archive.end_object();
}
template <class T>
  requires(std::same_as<T, bool> || std::same_as<T, double> || std::same_as<T, std::string> ||
           std::same_as<T, Scalar>)
void put(Archive& archive, T& value) {
  archive.scalar(value);
}
template <std::integral T>
  requires(!std::same_as<T, bool> && !std::same_as<T, char>)
void put(Archive& archive, T& value) {
  using Widest = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  auto wide = static_cast<Widest>(value);
  archive.scalar(wide);
  if (!archive.is_reading()) return;
  if (!std::in_range<T>(wide))
    return archive.wrong(sentence("has a value of the wrong type or range"));
  value = static_cast<T>(wide);
}
template <class Tag, class Rep>
void put(Archive& archive, Quantity<Tag, Rep>& quantity) {
  Rep count = quantity.count();
  put(archive, count);
  quantity = Quantity<Tag, Rep>(count);
}
inline void put(Archive& archive, WallTime& time) { put(archive, time.unix_ms); }
/// A text of one letter.
void put(Archive& archive, char& letter);
/// What somebody else wrote is an id only where is_plain_id() says so.
void put(Archive& archive, DeviceId& id);
/// Names and values: an object whose keys are the names. In texts alone.
void put(Archive& archive, std::vector<std::pair<std::string, std::string>>& pairs);
template <class T>
void put(Archive& archive, std::optional<T>& value);
template <class T>
void put(Archive& archive, Reading<T>& reading);
[[nodiscard]] Sentence words_of_no_id(const std::string& text);
/// `put_item` puts each. Reading takes `most` of them at most.
template <class T, class PutItem>
void put_list(Archive& archive, std::vector<T>& list, std::size_t most, const PutItem& put_item) {
  const std::size_t count = archive.begin_list(archive.is_reading() ? most : list.size());
  if (archive.is_reading()) list.clear();
  for (std::size_t i = 0; i < count && archive.is_good(); ++i) {
    archive.next_item();
    if (archive.is_reading()) list.emplace_back();
    put_item(list[i]);
  }
  archive.end_list();
}
template <class T>
void put(Archive& archive, std::vector<T>& list, std::size_t most = SIZE_MAX) {
  put_list(archive, list, most, [&](T& item) { put(archive, item); });
}

template <class T>
void put(Archive& archive, std::optional<T>& value) {
  const bool there = archive.has_value(value.has_value());
  if (archive.is_reading()) value = there ? std::optional<T>(std::in_place) : std::nullopt;
  if (there) put(archive, *value);
  if (!archive.is_right()) value.reset();
}

/// `there`, `why`: what was said of it before its value.
template <class T>
void put_reading(Archive& archive, Reading<T>& reading, bool there, Absent why) {
  if (!archive.is_reading()) {
    if (there) put(archive, const_cast<T&>(*reading.get()));
    return;
  }
  if (!there) return void(reading = why);
  T value{};
  put(archive, value);
  reading = archive.is_right() ? Reading<T>(std::move(value)) : Absent::failed;
}
template <class T>
void put(Archive& archive, Reading<T>& reading) {
  Absent why = reading.why();
  const bool there = archive.has_value(reading.has_value(), &why);
  put_reading(archive, reading, there, why);
}

/// A list whose items have fixed places. What a shorter one lacks keeps its value: an older program
/// wrote it. `least`: so many have to be there.
template <class... Values>
void put_row(Archive& archive, std::size_t least, Values&... values) {
  std::size_t left = archive.begin_list(archive.is_reading() ? SIZE_MAX : sizeof...(values));
  if (left < least) archive.wrong(sentence("has too few items"));
  const auto put_next = [&](auto& value) {
    if (left == 0 || !archive.is_good()) return;
    --left;
    archive.next_item();
    put(archive, value);
  };
  (put_next(values), ...);
  archive.end_list();
}

// --- members --------------------------------------------------------------------------------

template <class T>
void Archive::member(std::string_view key, T& value, Form form) {
  bool there = !may_be_absent(form);
  if constexpr (std::same_as<T, bool>) there = there || value;
  if constexpr (requires { value.empty(); }) there = there || !value.empty();
  if (!open(key, there, form, nullptr)) return;
  put(*this, value);
  close();
}
template <class T>
void Archive::member(std::string_view key, std::optional<T>& value, Form form) {
  const bool there = open(key, value.has_value(), form, nullptr);
  if (is_reading()) value = there ? std::optional<T>(std::in_place) : std::nullopt;
  if (!there) return;
  put(*this, *value);
  if (!is_right()) value.reset();
  close();
}
template <class T>
void Archive::member(std::string_view key, Reading<T>& reading, Form form) {
  Absent why = reading.why();
  if (form == Form::worded) {
    const bool tried = reading.has_value() || why != Absent::not_sampled;
    if (!open(key, tried, Form::sparse, nullptr)) return;
    put(*this, reading);
    return close();
  }
  const bool there = open(key, reading.has_value(), form, &why);
  put_reading(*this, reading, there, why);
  if (there) close();
}
template <class T>
void Archive::member(std::string_view key, std::vector<T>& list, std::size_t most, Form form) {
  if (!open(key, !may_be_absent(form) || !list.empty(), form, nullptr)) return;
  put(*this, list, most);
  close();
}

/// An enumeration by its word in `words`. False: the word that was read is none of them.
template <class E, class Words>
bool word_member(Archive& archive, std::string_view key, E& value, const Words& words) {
  std::string word;
  for (const auto& [one, name] : words) {
    if (one == value) word = std::string(name);
  }
  archive.member(key, word);
  for (const auto& [one, name] : words) {
    if (name != word) continue;
    value = one;
    return true;
  }
  return false;
}

}  // namespace berth
