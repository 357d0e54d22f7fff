#include "base/json.h"

#include "base/text.h"

namespace berth {

Result<Json> parse_json(std::string_view text, int deepest) {
  if (nesting_depth(text) > deepest) return fail(ErrorCode::invalid, "nested too deeply");
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {  // says line and column
    return fail(ErrorCode::invalid, "not valid JSON: {}", error.what());
  }
}

ForeignJson parse_foreign_json(std::string_view text) {
  if (nesting_depth(text) > deepest_json) return nullptr;
  ForeignJson json = ForeignJson::parse(text, nullptr, false);
  if (json.is_discarded()) return nullptr;
  return json;
}

std::string json_line(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const ForeignJson& member_of(const ForeignJson& object, const char* key) {
  static const ForeignJson none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

}  // namespace berth
