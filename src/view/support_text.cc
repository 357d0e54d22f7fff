#include "view/support_text.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/tr.h"
#include "view/table.h"
#include "view/values.h"

namespace berth {

namespace {

constexpr std::string_view border = "==== ";

/// No line of a part may look like the border of the next.
std::string without_borders(std::string_view text) {
  std::string safe;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with("====")) safe += ' ';
    safe += line;
    safe += '\n';
  }
  while (safe.ends_with("\n\n")) safe.pop_back();
  return safe;
}

std::string iso_time(WallTime time) { return date_time_text(time, Style{}) + " UTC"; }

}  // namespace

std::string shortened(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  const std::size_t half = most / 2;
  const std::size_t first = text.rfind('\n', half);
  const std::size_t last = text.find('\n', text.size() - half);
  const std::size_t begin = first == std::string::npos ? half : first;
  const std::size_t end = last == std::string::npos ? text.size() - half : last;
  return text.substr(0, begin) + fmt::format("\n[{} bytes left out]", end - begin) +
         text.substr(end);
}

std::string support_file_text(const SupportFile& file) {
  std::string text = "berth support file, version 1\n";
  if (file.simulated) text += "SIMULATED " + printable(*file.simulated) + "\n";
  text += fmt::format("made by berth {} at {}\n", file.version, iso_time(file.made));
  text += fmt::format("masked: {} secrets; replaced: {} names{}\n", file.secrets, file.names,
                      file.keeps_names ? " (users and host are named: --names)" : "");
  if (!file.keeps_names && !file.knows_users) {
    text +=
        "There was no snapshot to tell who is on this machine: names of users may still be in "
        "it.\n";
  }
  text += "Read it before you send it: what berth does not know to be secret is still in it.\n";
  for (const SupportPart& part : file.parts) {
    text += fmt::format("\n{}{}: {}\n", border, part.name, part.origin);
    if (!part.problem.empty()) text += "[" + printable(part.problem) + "]\n";
    if (!part.text.empty()) text += without_borders(printable_lines(part.text));
  }
  return text + "\n==== end\n";
}

std::string render_support_list(const SupportFile& file, const std::string& path,
                                const Style& style) {
  std::string text = simulated_line(file.simulated, style);
  text += wrapped("", own(trf("What {} would hold:", outside(path, style)), style), 2, style);
  static constexpr TableColumn columns[] = {{.least = 6}, {.least = 7}, {}};
  std::vector<TableRow> rows;
  for (const SupportPart& part : file.parts) {
    const bool is_there = part.problem.empty();
    rows.push_back({"  " + part.name,
                    bytes_text(Bytes(part.text.size())),
                    {outside(is_there ? part.origin : part.problem, style),
                     is_there ? Paint::dim : Paint::yellow}});
  }
  text += Table(columns, std::move(rows), 2, style).rows_text();
  text += wrapped(
      "",
      own(file.keeps_names
              ? trf("{} secrets are masked. Users and the host are named (--names).", file.secrets)
              : trf("{} secrets are masked; users, host and home are replaced in {} "
                    "places.",
                    file.secrets, file.names),
          style),
      2, style);
  if (!file.keeps_names && !file.knows_users) {
    text += wrapped("",
                    own(tr("There was no snapshot to tell who is on this machine: names of users "
                           "may still be in it."),
                        style),
                    2, style);
  }
  text +=
      wrapped("",
              own(tr("Left out: what your jobs printed (--log RUN adds one's), your code and data, "
                     "other users' variables. It is sent nowhere: read it, then attach it "
                     "yourself."),
                  style),
              2, style);
  return text;
}

}  // namespace berth
