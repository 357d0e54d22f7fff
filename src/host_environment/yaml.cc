#include "host_environment/yaml.h"

#include <yaml.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace berth {

namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) {
    is_ready_ = yaml_parser_initialize(&parser_) != 0;
    if (!is_ready_) return;
    // It wants an address, also of nothing.
    const char* begin = text.empty() ? "" : text.data();
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(begin),
                                 text.size());
  }
  ~Parser() {
    if (is_ready_) yaml_parser_delete(&parser_);
  }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  Result<ForeignJson> read() {
    if (!is_ready_) return fail(ErrorCode::io, "no memory to read YAML");
    for (;;) {
      yaml_event_t event;
      if (yaml_parser_parse(&parser_, &event) == 0) {
        return fail(ErrorCode::invalid, "line {}: {}", parser_.problem_mark.line + 1,
                    parser_.problem != nullptr ? parser_.problem : "no YAML");
      }
      const auto taken = take(event);
      yaml_event_delete(&event);
      if (!taken) return std::unexpected(taken.error());
      if (is_done_) return std::move(root_);
    }
  }

 private:
  /// A list or a map that is being read; of a map, the key whose value comes next.
  struct Open {
    ForeignJson value;
    std::optional<std::string> key = {};
  };

  static Result<void> fail_at(const yaml_event_t& event, ErrorCode code, const char* what) {
    return fail(code, "line {}: {}", event.start_mark.line + 1, what);
  }

  Result<void> take(const yaml_event_t& event) {
    constexpr std::size_t deepest = 64;
    switch (event.type) {
      case YAML_ALIAS_EVENT:
        return fail_at(event, ErrorCode::unsupported, "an alias (*name) is not read here");
      case YAML_SCALAR_EVENT:
        return put(event, std::string(reinterpret_cast<const char*>(event.data.scalar.value),
                                      event.data.scalar.length));
      case YAML_SEQUENCE_START_EVENT:
      case YAML_MAPPING_START_EVENT:
        if (open_.size() >= deepest) {
          return fail_at(event, ErrorCode::unsupported, "nested too deeply");
        }
        open_.push_back({event.type == YAML_SEQUENCE_START_EVENT ? ForeignJson::array()
                                                                 : ForeignJson::object()});
        return {};
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT: {
        ForeignJson value = std::move(open_.back().value);
        open_.pop_back();
        return put(event, std::move(value));
      }
      case YAML_DOCUMENT_END_EVENT:
      case YAML_STREAM_END_EVENT:
        is_done_ = true;
        return {};
      default:
        return {};
    }
  }

  Result<void> put(const yaml_event_t& event, ForeignJson value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return {};
    }
    Open& parent = open_.back();
    if (parent.value.is_array()) {
      parent.value.push_back(std::move(value));
    } else if (!parent.key) {
      if (!value.is_string())
        return fail_at(event, ErrorCode::unsupported, "a key that is no text");
      parent.key = value.get<std::string>();
    } else {
      if (parent.value.contains(*parent.key)) {
        return fail_at(event, ErrorCode::invalid, "the same key twice");
      }
      parent.value[*parent.key] = std::move(value);
      parent.key.reset();
    }
    return {};
  }

  yaml_parser_t parser_{};
  bool is_ready_ = false;
  bool is_done_ = false;
  std::vector<Open> open_;
  ForeignJson root_;
};

}  // namespace

Result<ForeignJson> parse_yaml(std::string_view text) { return Parser(text).read(); }

}  // namespace berth
