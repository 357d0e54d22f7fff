// PTX text to instructions.

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "ptx_machine.h"

namespace ptx {

namespace {

struct Failure {
  std::string what;
};

std::string trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

std::vector<std::string> parts_of(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == separator && depth == 0) {
      parts.push_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trimmed(part).empty()) parts.push_back(trimmed(part));
  return parts;
}

std::string without_comments(std::string_view text) {
  std::string left;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    left += line.substr(0, line.find("//")) + "\n";
  }
  return left;
}

std::size_t size_of(std::string_view type) {
  if (type.ends_with("64")) return 8;
  if (type.ends_with("32") || type == "pred") return 4;
  if (type.ends_with("16")) return 2;
  if (type.ends_with("8")) return 1;
  throw Failure{"type " + std::string(type)};
}

class Reader {
 public:
  Function function;

  void parameters(std::string_view text) {
    std::size_t offset = 0;
    for (const std::string& one : parts_of(text, ',')) {
      const auto space = one.rfind(' ');
      const std::size_t size = size_of(one.substr(one.find(".param") + 6, space - 6).substr(2));
      offset = (offset + size - 1) / size * size;
      symbols_[one.substr(space + 1)] = function.parameter_sizes.size();
      function.parameter_sizes.push_back(size);
    }
  }

  void statement(std::string text) {
    text = trimmed(text);
    for (auto colon = text.find(':'); colon != std::string::npos && is_label(text, colon);
         colon = text.find(':')) {
      labels_[trimmed(text.substr(0, colon))] = function.code.size();
      text = trimmed(text.substr(colon + 1));
    }
    if (text.empty()) return;
    if (text.starts_with(".reg")) return registers(text);
    if (text.starts_with(".shared")) return shared(text);
    instruction(text);
  }

  void finish() {
    function.registers = next_;
    for (auto& [at, label] : jumps_) {
      const auto found = labels_.find(label);
      if (found == labels_.end()) throw Failure{"label " + label};
      function.code[at].target = found->second;
    }
  }

 private:
  static bool is_label(const std::string& text, std::size_t colon) {
    return text.find_first_of(" \t[@") > colon;
  }

  void registers(const std::string& text) {
    const auto names = parts_of(text.substr(text.find('%')), ',');
    for (const std::string& name : names) {
      const auto open = name.find('<');
      if (open == std::string::npos) {
        symbols_[name] = next_++;
        continue;
      }
      const int count = std::atoi(name.c_str() + open + 1);
      for (int i = 0; i < count; ++i) symbols_[name.substr(0, open) + std::to_string(i)] = next_++;
    }
  }

  void shared(const std::string& text) {
    const auto open = text.find('[');
    const auto name = text.substr(text.rfind(' ', open) + 1, open - text.rfind(' ', open) - 1);
    function.shared_bytes = (function.shared_bytes + 15) / 16 * 16;
    shared_[name] = function.shared_bytes;
    function.shared_bytes += static_cast<std::size_t>(std::atol(text.c_str() + open + 1));
  }

  Operand operand(const std::string& text) {
    Operand made;
    if (text.starts_with("[")) {
      const std::string inner = text.substr(1, text.size() - 2);
      const auto plus = inner.find('+');
      made.kind = Operand::Kind::address;
      const Operand base = operand(trimmed(inner.substr(0, plus)));
      made.reg = base.kind == Operand::Kind::reg ? base.reg : -1;
      made.number = base.kind == Operand::Kind::reg ? 0 : base.number;
      if (plus != std::string::npos) made.number += operand(trimmed(inner.substr(plus + 1))).number;
      return made;
    }
    constexpr const char* specials[] = {"%tid.x",  "%tid.y",  "%ctaid.x",  "%ctaid.y",
                                        "%ntid.x", "%ntid.y", "%nctaid.x", "%nctaid.y"};
    for (int i = 0; i < 8; ++i) {
      if (text != specials[i]) continue;
      made.kind = Operand::Kind::special;
      made.special = i;
      return made;
    }
    if (const auto known = symbols_.find(text); known != symbols_.end()) {
      made.kind = text.starts_with("%") ? Operand::Kind::reg : Operand::Kind::number;
      made.reg = static_cast<int>(known->second);
      made.number = known->second;
      return made;
    }
    if (const auto known = shared_.find(text); known != shared_.end()) {
      made.number = known->second;
      return made;
    }
    if (text.starts_with("0f")) {
      made.number = std::strtoull(text.c_str() + 2, nullptr, 16);
      return made;
    }
    char* end = nullptr;
    made.number = static_cast<std::uint64_t>(std::strtoll(text.c_str(), &end, 0));
    if (end == text.c_str() || *end != '\0') throw Failure{"operand " + text};
    return made;
  }

  static Op operation(const std::string& word) {
    constexpr const char* names[] = {"mov", "mad", "mul",  "add", "sub",  "shr", "shl",
                                     "xor", "and", "or",   "rem", "setp", "bra", "ld",
                                     "st",  "cvt", "cvta", "fma", "bar",  "ret"};
    const auto known = std::ranges::find(names, word);
    if (known == std::end(names)) throw Failure{"instruction " + word};
    return static_cast<Op>(known - std::begin(names));
  }

  static Type type_of(const std::string& word) {
    return {
        .is_float = word == "f32", .is_signed = word[0] == 's', .is_wide = word.ends_with("64")};
  }

  static void name_modifiers(const std::vector<std::string>& words, Instruction& made) {
    const auto has = [&](const char* word) {
      return std::ranges::find(words, word) != words.end();
    };
    made.type = type_of(words.back());
    if (made.op == Op::cvt) made.to = type_of(words[words.size() - 2]);
    made.takes_all = has("wide");
    constexpr const char* compares[] = {"lt", "le", "gt", "ge", "eq", "ne"};
    for (int i = 0; i < 6; ++i) {
      if (has(compares[i])) made.compare = static_cast<Compare>(i);
    }
    made.space = has("param") ? Space::param : has("shared") ? Space::shared : Space::global;
    made.lanes = has("v4") ? 4 : has("v2") ? 2 : 1;
  }

  void instruction(std::string text) {
    Instruction made;
    if (text.starts_with("@")) {
      const auto space = text.find(' ');
      made.guard_negated = text[1] == '!';
      made.guard =
          operand(text.substr(made.guard_negated ? 2 : 1, space - (made.guard_negated ? 2 : 1)))
              .reg;
      text = trimmed(text.substr(space));
    }
    const auto space = text.find_first_of(" \t");
    const auto words = parts_of(text.substr(0, space), '.');
    made.op = operation(words.front());
    name_modifiers(words, made);
    const std::string rest = space == std::string::npos ? "" : trimmed(text.substr(space));
    if (made.op == Op::bra) {
      jumps_.emplace_back(function.code.size(), rest);
    } else if (!rest.empty()) {
      for (const std::string& one : parts_of(rest, ',')) {
        if (!one.starts_with("{")) {
          made.operands.push_back(operand(one));
          continue;
        }
        for (const std::string& lane : parts_of(one.substr(1, one.size() - 2), ',')) {
          made.operands.push_back(operand(lane));
        }
      }
    }
    function.code.push_back(std::move(made));
  }

  std::map<std::string, std::size_t> symbols_;  // registers, and parameters by their number
  std::map<std::string, std::size_t> shared_;
  std::map<std::string, std::size_t> labels_;
  std::vector<std::pair<std::size_t, std::string>> jumps_;
  std::size_t next_ = 0;
};

}  // namespace

std::expected<Module, std::string> read(std::string_view source) {
  Module module;
  const std::string text = without_comments(source);
  if (text.find(".version") == std::string::npos) return std::unexpected("no .version");
  try {
    for (auto at = text.find(".entry"); at != std::string::npos; at = text.find(".entry", at)) {
      const auto open = text.find('(', at);
      const auto close = text.find(')', open);
      auto body = text.find('{', close);
      const auto end = text.find("\n}", body);
      if (end == std::string::npos) return std::unexpected("an entry that does not end");
      Reader reader;
      reader.parameters(std::string_view(text).substr(open + 1, close - open - 1));
      ++body;
      for (auto semicolon = text.find(';', body); semicolon < end;
           semicolon = text.find(';', body)) {
        reader.statement(text.substr(body, semicolon - body));
        body = semicolon + 1;
      }
      reader.finish();
      module[trimmed(std::string_view(text).substr(at + 6, open - at - 6))] =
          std::move(reader.function);
      at = end;
    }
  } catch (const Failure& failure) {
    return std::unexpected("not understood: " + failure.what);
  }
  return module;
}

}  // namespace ptx
