#include "view/config_text.h"

#include <algorithm>

#include "base/json_archive.h"
#include "base/text.h"
#include "base/tr.h"
#include "view/paint.h"

namespace berth {

namespace {

constexpr int gap = 2;

int widest_key() {
  std::size_t widest = 0;
  for (const ConfigKey& key : config_keys()) widest = std::max(widest, key.name.size());
  return static_cast<int>(widest);
}

std::string key_line(const ConfigKey& key, const Config& config, ConfigDetail detail,
                     const Style& style) {
  constexpr int value_width = 12;
  const ConfigValue* said = config.find(key.name);
  const std::string value =
      said != nullptr ? outside(said->text, style) : own(tr("default"), style);
  const bool tells_origin = detail == ConfigDetail::origins;
  const std::string origin = said != nullptr ? outside(said->origin, style) : std::string();
  Line line(style);
  line.cell(key.name, widest_key(), Align::left).space_to(widest_key() + gap);
  line.add(value, said != nullptr ? Paint::bold : Paint::dim);
  line.space_to(std::max(widest_key() + gap + value_width, line.width() + gap));
  return line.add(tells_origin ? origin : own(tr(key.help), style), Paint::dim).text();
}

std::string file_line(const ConfigFile& file, const Style& style) {
  const std::string path = outside(file.path, style);
  return wrapped("", file.is_there ? path : own(trf("{} (not there)", path), style), 2, style,
                 Paint::dim);
}

}  // namespace

std::string render_config(const Config& config, ConfigDetail detail, const Style& style) {
  std::string text;
  for (const ConfigKey& key : config_keys()) text += key_line(key, config, detail, style);
  if (detail == ConfigDetail::origins) {
    text += "\n";
    for (const ConfigFile& file : config.files) text += file_line(file, style);
  }
  for (const Error& mistake : config.mistakes) {
    text += warning_line(outside(mistake.shown(), style), style);
  }
  for (const Sentence& unknown : config.unknown) {
    text += warning_line(outside(unknown.shown(), style), style);
  }
  return text;
}

std::string config_json(const Config& config) {
  const auto write_value = [&](Archive& archive, const ConfigKey& key) {
    const ConfigValue* said = config.find(key.name);
    using Word = std::optional<std::string>;
    archive.derived("key", key.name);
    archive.derived("value", said != nullptr ? Word(said->text) : Word());
    archive.derived("source", said != nullptr ? Word(name_of(said->source)) : Word());
    archive.derived("origin", said != nullptr ? Word(said->origin) : Word());
    archive.derived("form", key.form);
    archive.derived("variable", key.variable != nullptr ? Word(key.variable) : Word());
    archive.derived("flag", key.flag.empty() ? Word() : Word(key.flag));
    archive.derived("last_file", key.last_file ? Word(name_of(*key.last_file)) : Word());
  };
  std::vector<std::string> mistakes;
  for (const Error& mistake : config.mistakes) mistakes.push_back(mistake.message());
  return write_json(JsonLayout::indented, [&](Archive& archive) {
    archive.derived("berth_config", 1);
    archive.derived_list("values", config_keys(),
                         [&](const ConfigKey& key) { write_value(archive, key); });
    archive.derived_list("files", config.files, [&](const ConfigFile& file) {
      archive.derived("source", name_of(file.source));
      archive.derived("path", file.path);
      archive.derived("is_there", file.is_there);
    });
    archive.derived("mistakes", mistakes);
    archive.derived("unknown", config.unknown);
  });
}

}  // namespace berth
