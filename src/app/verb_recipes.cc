// `berth recipes`: small complete PyTorch programs, listed, shown and copied.

#include <sys/stat.h>

#include <vector>

#include "app/recipes.h"
#include "app/verb.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/tr.h"
#include "view/table.h"

namespace berth {

namespace {

class RecipesVerb final : public Verb {
 public:
  void declare(Options& options) override {
    options.word("action", action_, "list (also without a word), show or copy");
    options.word("name", name_, "which one; copy also takes \"all\"");
    options.word("directory", directory_, "where to copy it (here)");
    options.flag("--force", force_, "overwrite what is there (copy)");
  }

  int run(Context& context, const std::vector<std::string>&) override {
    if (action_.empty() || action_ == "list") {
      return name_.empty() ? list(context.out_uncut()) : misused();
    }
    if (name_.empty()) return misused();
    const bool all = action_ == "copy" && name_ == "all";
    const Recipe* recipe = all ? nullptr : find_recipe(name_);
    if (action_ == "show" && directory_.empty()) return recipe ? show(*recipe) : unknown();
    if (action_ != "copy") return misused();
    if (all) return copy(recipes());
    return recipe ? copy({recipe, 1}) : unknown();
  }

 private:
  static int misused() {
    complain(
        tr("recipes: berth recipes list, berth recipes show NAME, berth recipes copy NAME|all "
           "[DIRECTORY]"));
    return exit_code::usage;
  }

  int unknown() const {
    complain(trf("there is no recipe \"{}\": berth recipes lists them", printable(name_)));
    return exit_code::usage;
  }

  static int list(const Style& style) {
    static constexpr TableColumn columns[] = {{.least = 24}, {.wraps = true}};
    std::vector<TableRow> rows;
    for (const Recipe& recipe : recipes()) {
      rows.push_back({std::string(recipe.name), own(tr(recipe.what), style)});
    }
    print(Table(columns, std::move(rows), 2, style).rows_text());
    return exit_code::ok;
  }

  static int show(const Recipe& recipe) {
    print(recipe.text());
    return exit_code::ok;
  }

  [[nodiscard]] std::string path_of(const Recipe& recipe) const {
    if (directory_.empty()) return recipe.file();
    return directory_ + (directory_.ends_with('/') ? "" : "/") + recipe.file();
  }

  /// All of them or, where another file is in the way of one, none.
  int copy(std::span<const Recipe> wanted) const {
    if (struct stat facts{};
        !directory_.empty() && ::stat(directory_.c_str(), &facts) == 0 && !S_ISDIR(facts.st_mode)) {
      complain(
          trf("{} is no directory: name another one, nothing was copied", printable(directory_)));
      return exit_code::failed;
    }
    bool in_the_way = false;
    for (const Recipe& recipe : wanted) {
      const std::string path = path_of(recipe);
      if (force_ || recipe_place(path, recipe) != RecipePlace::taken) continue;
      complain(trf("{} is there already and is not this recipe", printable(path)));
      in_the_way = true;
    }
    if (in_the_way) {
      complain(tr("nothing was copied: name another directory, or add --force to overwrite"));
      return exit_code::failed;
    }
    if (!directory_.empty()) {
      if (auto made = make_directories(directory_); !made) return report(made.error());
    }
    for (const Recipe& recipe : wanted) {
      if (const int code = copy_one(recipe); code != exit_code::ok) return code;
    }
    return exit_code::ok;
  }

  int copy_one(const Recipe& recipe) const {
    const std::string path = path_of(recipe);
    const bool same = recipe_place(path, recipe) == RecipePlace::same;
    if (!same) {
      const auto written = write_recipe(path, recipe, force_ ? Overwrite::yes : Overwrite::no);
      if (!written) return report(written.error());
    }
    print((same ? trf("{} was there already", printable(path)) : trf("wrote {}", printable(path))) +
          "\n    " + std::string(recipe.start) + shell_quoted(path) + "\n");
    return exit_code::ok;
  }

  std::string action_, name_, directory_;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_recipes() { return std::make_unique<RecipesVerb>(); }

}  // namespace berth
