#pragma once
// The recipes: small complete PyTorch programs (examples/recipes, doc/RECIPES.md). They are part of
// the binary, so they are wherever berth is.

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth {

struct Recipe {
  std::string_view name;
  std::string_view what;   // goes through tr()
  std::string_view start;  // the command line up to the file's name
  const char* begin;
  const char* end;

  [[nodiscard]] std::string_view text() const { return {begin, end}; }
  [[nodiscard]] std::string file() const { return std::string(name) + ".py"; }
};

/// In the order of doc/RECIPES.md.
[[nodiscard]] std::span<const Recipe> recipes();

/// By its name, with or without ".py", with "-" for "_" or not. Null: there is none of that name.
[[nodiscard]] const Recipe* find_recipe(std::string_view name);

/// Whether something stands in the place of a recipe that is to be written.
enum class RecipePlace { free, same, taken };
[[nodiscard]] RecipePlace recipe_place(const std::string& path, const Recipe& recipe);

enum class Overwrite { no, yes };
/// Writes it as a new file; it fails if one has come into being meanwhile. With Overwrite::yes it
/// replaces the file that is there. A symbolic link there is not followed.
[[nodiscard]] Result<void> write_recipe(const std::string& path, const Recipe& recipe,
                                        Overwrite overwrite);

}  // namespace berth
