#pragma once
// A model's files as they lie on a disk: a config.json, safetensors files, a folder with either.
// Only headers are read, whatever the files' size.

#include <string>

#include "base/result.h"
#include "fit/model.h"

namespace berth {

/// Whether the word names something on the disk rather than a number of parameters.
[[nodiscard]] bool names_a_file(const std::string& word);

/// The number of parameters is the files' own where there are weights. It is the config's where
/// these are packed, or where there is a config alone. The shape comes from the config.json beside
/// them. Errors name the file.
[[nodiscard]] Result<Model> read_model(const std::string& path);

}  // namespace berth
