#include "fit/safetensors.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "fit/model.h"

namespace berth {

namespace {

struct ElementType {
  std::string_view name;
  std::uint64_t bits;
};
constexpr auto element_types = std::to_array<ElementType>({{"F64", 64},
                                                           {"I64", 64},
                                                           {"U64", 64},
                                                           {"F32", 32},
                                                           {"I32", 32},
                                                           {"U32", 32},
                                                           {"F16", 16},
                                                           {"BF16", 16},
                                                           {"I16", 16},
                                                           {"U16", 16},
                                                           {"F8_E4M3", 8},
                                                           {"F8_E5M2", 8},
                                                           {"F8_E8M0", 8},
                                                           {"I8", 8},
                                                           {"U8", 8},
                                                           {"BOOL", 8},
                                                           {"F4", 4}});

std::unexpected<Error> no_header(const Sentence& why) {
  return fail(ErrorCode::invalid, "its header is not that of a safetensors file: {}", why);
}

std::optional<std::uint64_t> elements_of(const ForeignJson& shape) {
  if (!shape.is_array()) return std::nullopt;
  std::uint64_t count = 1;
  for (const auto& size : shape) {
    const auto number = number_in<std::uint64_t>(size);
    if (!number || __builtin_mul_overflow(count, *number, &count)) return std::nullopt;
  }
  return count;
}

/// GPTQ and AWQ name them qweight, compressed-tensors weight_packed (32-bit words); MLX keeps the
/// name weight; bitsandbytes and MXFP4 pack two into a byte.
bool holds_packed_words(std::string_view name, std::string_view type) {
  if (type == "U8") return true;
  if (type != "I32" && type != "U32") return false;
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return last == "qweight" || last == "weight_packed" || last == "weight";
}

/// Nothing: it is not as the format is.
std::optional<StoredTensors> tensor_of(std::string_view called, const ForeignJson& tensor,
                                       std::uint64_t data_size) {
  if (!tensor.is_object()) return std::nullopt;
  const auto type = tensor.find("dtype");
  const auto shape = tensor.find("shape");
  const auto place = tensor.find("data_offsets");
  if (type == tensor.end() || !type->is_string() || shape == tensor.end()) return std::nullopt;
  if (place == tensor.end() || !place->is_array() || place->size() != 2) return std::nullopt;
  const auto begin = number_in<std::uint64_t>((*place)[0]);
  const auto end = number_in<std::uint64_t>((*place)[1]);
  if (!begin || !end || *begin > *end || *end > data_size) return std::nullopt;
  const auto count = elements_of(*shape);
  if (!count || *count > most_parameters) return std::nullopt;
  const std::string name = type->get<std::string>();
  const auto known = std::ranges::find(element_types, name, &ElementType::name);
  const std::uint64_t bytes = *end - *begin;
  if (known != element_types.end() && (*count * known->bits + 7) / 8 != bytes) return std::nullopt;
  return StoredTensors{*count, bytes, holds_packed_words(called, name), {{name, bytes}}};
}

std::optional<Precision> precision_of(std::string_view type) {
  if (type == "F64" || type == "F32") return Precision::fp32;
  if (type == "F16") return Precision::fp16;
  if (type == "BF16") return Precision::bf16;
  if (type == "F8_E4M3" || type == "F8_E5M2") return Precision::fp8;
  if (type == "I8") return Precision::int8;
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> StoredTensors::parameters() const {
  if (packed) return std::nullopt;
  return elements;
}

std::optional<Precision> StoredTensors::prevailing() const {
  std::map<Precision, std::uint64_t> sizes;
  for (const auto& [type, size] : bytes_of_type) {
    if (const auto precision = precision_of(type)) sizes[*precision] += size;
  }
  if (sizes.empty()) return std::nullopt;
  return std::ranges::max_element(sizes, {}, [](const auto& each) { return each.second; })->first;
}

bool StoredTensors::add(const StoredTensors& other) {
  if (other.elements > most_parameters - std::min(elements, most_parameters)) return false;
  if (__builtin_add_overflow(bytes, other.bytes, &bytes)) return false;
  elements += other.elements;
  packed = packed || other.packed;
  for (const auto& [type, size] : other.bytes_of_type) bytes_of_type[type] += size;
  return true;
}

Result<std::uint64_t> safetensors_header_length(std::string_view first_bytes,
                                                std::uint64_t file_size) {
  if (first_bytes.size() < 8) return no_header(sentence("it is shorter than 8 bytes"));
  std::uint64_t length = 0;
  for (std::size_t i = 8; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(first_bytes[i]);
  }
  if (length > longest_safetensors_header || file_size < 8 || length > file_size - 8) {
    return no_header(sentence("it says to be {} bytes long", length));
  }
  return length;
}

Result<StoredTensors> parse_safetensors_header(std::string_view json, std::uint64_t data_size) {
  const ForeignJson header = parse_foreign_json(json);
  if (!header.is_object()) return no_header(sentence("it is no JSON object"));
  StoredTensors all;
  for (const auto& [name, tensor] : header.items()) {
    if (name == "__metadata__") continue;
    const auto one = tensor_of(name, tensor, data_size);
    if (!one || !all.add(*one)) {
      return no_header(sentence("tensor \"{}\"", cut_to_width(printable(name), 60, true)));
    }
  }
  if (all.bytes > data_size) return no_header(sentence("its tensors lie on each other"));
  return all;
}

Result<std::vector<std::string>> parse_safetensors_index(std::string_view json) {
  const auto refuse = [](const Sentence& why) {
    return fail(ErrorCode::invalid, "it is no index of safetensors files: {}", why);
  };
  const ForeignJson index = parse_foreign_json(json);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    return refuse(sentence("it has no weight_map"));
  }
  std::set<std::string> names;
  for (const auto& [tensor, file] : index["weight_map"].items()) {
    if (!file.is_string()) return refuse(sentence("it names no file"));
    const auto name = file.get<std::string>();
    if (name.empty() || name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos) {
      return refuse(sentence("it names a file outside of its folder"));
    }
    names.insert(name);
    if (names.size() > 10'000) return refuse(sentence("it names more than 10000 files"));
  }
  return std::vector<std::string>(names.begin(), names.end());
}

std::optional<std::uint64_t> total_size_in_index(std::string_view json) {
  const ForeignJson index = parse_foreign_json(json);
  if (!index.is_object() || !index.contains("metadata")) return std::nullopt;
  const ForeignJson& about = index["metadata"];
  if (!about.is_object() || !about.contains("total_size")) return std::nullopt;
  const auto size = number_in<std::uint64_t>(about["total_size"]);
  if (!size || *size == 0 || *size > 8 * most_parameters) return std::nullopt;
  return size;
}

}  // namespace berth
