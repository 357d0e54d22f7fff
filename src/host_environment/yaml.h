#pragma once
// YAML as a tree of JSON, by libyaml: what files of containers and clusters are written in.

#include <string_view>

#include "base/json.h"

namespace berth {

/// The first document; every scalar is a string. JSON is YAML, too. invalid: says where.
/// unsupported: aliases, which a small file can grow by without bound, and what is nested deeper
/// than 64.
[[nodiscard]] Result<ForeignJson> parse_yaml(std::string_view text);

}  // namespace berth
