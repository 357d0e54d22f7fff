#include "fit/model_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/sentence.h"
#include "base/temporary_directory.h"

namespace berth {
namespace {

using ::testing::HasSubstr;

class ModelFile : public ::testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  /// A safetensors file of one tensor of so many bfloat16, with a hole where they would be.
  void put_tensors(const std::string& name, std::uint64_t elements) const {
    const std::uint64_t bytes = elements * 2;
    const std::string header = R"({"w":{"dtype":"BF16","shape":[)" + std::to_string(elements) +
                               R"(],"data_offsets":[0,)" + std::to_string(bytes) + "]}}";
    std::string length(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i));
    put(name, length + header);
    std::filesystem::resize_file(folder_ / name, 8 + header.size() + bytes);
  }
  std::string mistake_in(const std::string& name) const {
    const auto model = read_model(folder_ / name);
    return model ? "" : model.error().message();
  }
  TemporaryDirectory folder_;
};

constexpr auto small_llama =
    R"({"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,)"
    R"("intermediate_size":128,"vocab_size":100,"torch_dtype":"bfloat16"})";

TEST_F(ModelFile, OfAFolderIsTheSumOfItsWeightsInTheShapeOfItsConfig) {
  put("config.json", small_llama);
  put_tensors("a.safetensors", 3000);
  put_tensors("b.safetensors", 500);
  const auto model = read_model(folder_.path());
  ASSERT_TRUE(model) << model.error().message();
  EXPECT_EQ(model->parameters, 3500U);
  EXPECT_EQ(model->stored_bytes, 7000U);
  EXPECT_EQ(model->stored_as, Precision::bf16);
  ASSERT_TRUE(model->shape);
  EXPECT_EQ(model->shape->layers, 2U);
  EXPECT_EQ(model->shape_like, "");
  EXPECT_EQ(model->name, folder_.path());
}

TEST_F(ModelFile, OfAFolderWithAnIndexIsWhatThatNames) {
  put("m.safetensors.index.json", R"({"weight_map":{"w":"a.safetensors"}})");
  put_tensors("a.safetensors", 3000);
  put_tensors("of_another.safetensors", 500);
  EXPECT_EQ(read_model(folder_.path())->parameters, 3000U);
}

TEST_F(ModelFile, AnIndexWithoutItsFilesStillSaysWhatTheyTake) {
  put("m.safetensors.index.json",
      R"({"metadata":{"total_size":7000},"weight_map":{"w":"a.safetensors"}})");
  const auto model = read_model(folder_ / "m.safetensors.index.json");
  ASSERT_TRUE(model) << model.error().message();
  EXPECT_EQ(model->stored_bytes, 7000U);
  EXPECT_EQ(model->parameters, std::nullopt) << "several may be packed into a word";
}

TEST_F(ModelFile, OfAConfigAloneHasItsCount) {
  put("config.json", small_llama);
  for (const std::string& path : {folder_.path(), folder_ / "config.json"}) {
    const auto model = read_model(path);
    ASSERT_TRUE(model) << model.error().message();
    EXPECT_GT(model->parameters, 0U);
    EXPECT_EQ(model->stored_bytes, std::nullopt);
  }
}

TEST_F(ModelFile, ThatIsNoneIsNamed) {
  put("broken.safetensors", "short");
  EXPECT_THAT(mistake_in("broken.safetensors"), HasSubstr("broken.safetensors"));
  put("config.json", "{");
  EXPECT_THAT(mistake_in("config.json"), HasSubstr("config.json"));
  EXPECT_THAT(mistake_in("gone.json"), HasSubstr("gone.json"));
  ASSERT_EQ(::mkfifo((folder_ / "pipe.json").c_str(), 0600), 0);
  EXPECT_THAT(mistake_in("pipe.json"), HasSubstr("no ordinary file")) << "nor is it waited for";
}

TEST_F(ModelFile, IsToldFromANumberOfParameters) {
  EXPECT_TRUE(names_a_file("models/llama"));
  EXPECT_TRUE(names_a_file("config.json"));
  EXPECT_TRUE(names_a_file(folder_.path()));
  EXPECT_FALSE(names_a_file("7B"));
}

}  // namespace
}  // namespace berth
