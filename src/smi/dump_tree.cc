// Dumps as trees: by indentation for -q, by tags for XML. What could grow without bound is bounded.

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/sentence.h"
#include "base/text.h"
#include "smi/dump.h"

namespace berth::smi {

namespace {

/// A -q -x of 16 GPUs with all their clocks has some 10,000 nodes; nothing real is deeper than 8.
constexpr std::size_t most_nodes = 1'000'000;
constexpr std::size_t deepest = 32;
constexpr std::size_t longest_value = 4096;

struct Line {
  std::size_t indent;
  std::string_view name;
  std::string_view value;
  bool has_value;
};

/// Where an editor or unexpand has put tabs for spaces: each reaches to the next multiple of eight.
/// Lines with nothing but tabs nest in the same way whatever the width.
std::size_t columns_of(std::string_view indentation) {
  constexpr std::size_t tab = 8;
  std::size_t columns = 0;
  for (const char c : indentation) columns = c == '\t' ? (columns / tab + 1) * tab : columns + 1;
  return columns;
}

Line parsed(std::string_view raw) {
  const std::size_t begin = std::min(raw.find_first_not_of(" \t"), raw.size());
  const std::size_t indent = columns_of(raw.substr(0, begin));
  std::string_view rest = raw.substr(begin);
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  // Labels hold no colon; values (addresses, times) do.
  const std::size_t colon = rest.find(':');
  const bool address = rest.starts_with("GPU 0") || rest.starts_with("Unit ");
  if (colon == std::string_view::npos || address) return {indent, trimmed(rest), {}, false};
  std::string_view value = rest.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  return {indent, trimmed(rest.substr(0, colon)), value.substr(0, longest_value), true};
}

/// Where new children go: the last node at each indentation that is still open.
class Growing {
 public:
  explicit Growing(Node& root) { open_.push_back({0, &root}); }
  /// False: it would be too deep.
  bool add(std::size_t indent, Node node) {
    while (open_.size() > 1 && open_.back().indent >= indent + 1) open_.pop_back();
    if (open_.size() > deepest) return false;
    auto& siblings = open_.back().node->children;
    siblings.push_back(std::move(node));
    open_.push_back({indent + 1, &siblings.back()});
    return true;
  }

 private:
  struct Open {
    std::size_t indent;  // one more than the line's, so that the root is below every line
    Node* node;
  };
  std::vector<Open> open_;
};

std::string unescaped(std::string_view raw) {
  constexpr std::pair<std::string_view, char> entities[] = {
      {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}};
  std::string text;
  for (std::size_t at = 0; at < raw.size();) {
    const auto found = std::ranges::find_if(
        entities, [&](const auto& entity) { return raw.substr(at).starts_with(entity.first); });
    text += found == std::end(entities) ? raw[at] : found->second;
    at += found == std::end(entities) ? 1 : found->first.size();
  }
  return text;
}

/// The value of an attribute in the inside of a tag: gpu id="00000000:53:00.0".
std::string_view attribute(std::string_view inside, std::string_view name) {
  const std::size_t at = inside.find(name);
  if (at == std::string_view::npos) return {};
  const std::size_t open = inside.find('"', at);
  if (open == std::string_view::npos) return {};
  const std::size_t close = inside.find('"', open + 1);
  return close == std::string_view::npos ? std::string_view()
                                         : inside.substr(open + 1, close - open - 1);
}

/// Reads tag after tag; `path_` is the way to the element that is open.
class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : rest_(text) { path_.push_back(&root_); }

  Result<Node> read() {
    while (true) {
      const std::size_t open = rest_.find('<');
      if (open == std::string_view::npos) break;
      keep_text(rest_.substr(0, open));
      rest_.remove_prefix(open);
      if (!skip_markup() && !tag()) return fail(ErrorCode::invalid, Sentence(mistake_));
    }
    if (path_.size() > 1) {
      return fail(ErrorCode::invalid, "the XML ends inside <{}>", path_.back()->name);
    }
    return std::move(root_);
  }

 private:
  void keep_text(std::string_view text) {
    text = trimmed(text);
    Node& node = *path_.back();
    if (text.empty() || !node.children.empty() || path_.size() == 1) return;
    node.value = unescaped(text.substr(0, longest_value));
  }
  /// Comments, declarations, the DOCTYPE.
  bool skip_markup() {
    std::string_view end;
    if (rest_.starts_with("<!--")) end = "-->";
    if (rest_.starts_with("<?")) end = "?>";
    if (end.empty() && rest_.starts_with("<!")) end = ">";
    if (end.empty()) return false;
    const std::size_t close = rest_.find(end);
    rest_.remove_prefix(close == std::string_view::npos ? rest_.size() : close + end.size());
    return true;
  }
  bool tag() {
    const std::size_t close = rest_.find('>');
    if (close == std::string_view::npos) return wrong("a tag of the XML has no end");
    std::string_view inside = rest_.substr(1, close - 1);
    rest_.remove_prefix(close + 1);
    if (inside.starts_with('/')) return ends(trimmed(inside.substr(1)));
    const bool empty = inside.ends_with('/');
    if (empty) inside.remove_suffix(1);
    const std::string_view name = inside.substr(0, inside.find_first_of(" \t\r\n"));
    if (name.empty()) return wrong("a tag of the XML has no name");
    if (++count_ > most_nodes) return wrong("the XML has more than a million elements");
    if (path_.size() > deepest) return wrong("the XML is nested too deeply");
    auto& siblings = path_.back()->children;
    siblings.push_back({std::string(name.substr(0, 256)), "", {}, true});
    if (name == "gpu") siblings.back().value = std::string(attribute(inside, "id"));
    if (!empty) path_.push_back(&siblings.back());
    return true;
  }
  bool ends(std::string_view name) {
    if (path_.size() < 2 || path_.back()->name != name) {
      return wrong("the XML closes <" + printable(name.substr(0, 64)) + ">, which is not open");
    }
    path_.pop_back();
    return true;
  }
  bool wrong(std::string what) {
    mistake_ = std::move(what);
    return false;
  }

  std::string_view rest_;
  Node root_;
  std::vector<Node*> path_;
  std::size_t count_ = 0;
  std::string mistake_;
};

}  // namespace

Result<Node> tree_from_text(std::string_view text) {
  Node root;
  Growing growing(root);
  std::size_t count = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view raw = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (trimmed(raw).empty() || raw.starts_with("====")) continue;
    const Line line = parsed(raw);
    if (++count > most_nodes) return fail(ErrorCode::invalid, "it has more than a million lines");
    Node node{std::string(line.name.substr(0, 256)), std::string(line.value), {}, !line.has_value};
    if (!growing.add(line.indent, std::move(node))) {
      return fail(ErrorCode::invalid, "its lines are indented too deeply");
    }
  }
  return root;
}

Result<Node> tree_from_xml(std::string_view text) { return XmlReader(text).read(); }

}  // namespace berth::smi
