#pragma once
// Charts of characters: braille (two by four dots a cell) or ASCII (one by two). Each column of
// dots goes from the least to the most of its samples and reaches out to its neighbour. So a step
// is a line and not two specks.

#include <string>
#include <vector>

#include "top/history.h"

namespace berth::top {

enum class Dots { braille, ascii };

/// Columns of dots that a chart of so many cells has.
[[nodiscard]] int dot_columns(int cells, Dots dots);

/// `rows` lines of `cells` characters, the uppermost first. `top`: the value of the upper edge.
[[nodiscard]] std::vector<std::string> chart(const std::vector<Aggregate<float>>& columns,
                                             float top, int cells, int rows, Dots dots);

}  // namespace berth::top
