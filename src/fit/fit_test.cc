#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fit/estimate.h"
#include "fit/places.h"
#include "fit/safetensors.h"

namespace berth {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::uint64_t parameters_of(const std::string& config) {
  const auto model = parse_model_config(config);
  EXPECT_TRUE(model) << config << (model ? "" : model.error().message());
  return model ? model->parameters.value_or(0) : 0;
}

// The exact counts are those of the models as published, summed over their checkpoints.
TEST(ModelConfig, CountsEveryParameterOfPublishedModels) {
  EXPECT_EQ(parameters_of(R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 11008,
      "vocab_size": 32000, "tie_word_embeddings": false})"),
            6'738'415'616U);  // Llama 2 7B
  EXPECT_EQ(parameters_of(R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
      "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
      "vocab_size": 128256, "tie_word_embeddings": false})"),
            8'030'261'248U);  // Llama 3 8B
  EXPECT_EQ(parameters_of(R"({"model_type": "mistral", "hidden_size": 4096,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
      "intermediate_size": 14336, "vocab_size": 32000, "sliding_window": 4096})"),
            7'241'732'096U);  // Mistral 7B
  EXPECT_EQ(parameters_of(R"({"model_type": "qwen2", "hidden_size": 3584, "num_hidden_layers": 28,
      "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18944,
      "vocab_size": 152064, "tie_word_embeddings": false})"),
            7'615'616'512U);  // Qwen2 7B
  EXPECT_EQ(parameters_of(R"({"model_type": "qwen2", "hidden_size": 896, "num_hidden_layers": 24,
      "num_attention_heads": 14, "num_key_value_heads": 2, "intermediate_size": 4864,
      "vocab_size": 151936, "tie_word_embeddings": true})"),
            494'032'768U);  // Qwen2 0.5B
  EXPECT_EQ(parameters_of(R"({"model_type": "gemma", "hidden_size": 2048, "num_hidden_layers": 18,
      "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 256,
      "intermediate_size": 16384, "vocab_size": 256000})"),
            2'506'172'416U);  // Gemma 2B
  EXPECT_EQ(parameters_of(R"({"model_type": "mixtral", "hidden_size": 4096,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
      "intermediate_size": 14336, "vocab_size": 32000, "num_local_experts": 8})"),
            46'702'792'704U);  // Mixtral 8x7B
  EXPECT_EQ(parameters_of(R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12,
      "n_positions": 1024, "vocab_size": 50257})"),
            124'439'808U);  // GPT-2
  EXPECT_EQ(parameters_of(R"({"model_type": "gpt_neox", "hidden_size": 4096,
      "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 16384,
      "vocab_size": 50432, "tie_word_embeddings": false})"),
            6'857'302'016U);  // Pythia 6.9B
  EXPECT_EQ(parameters_of(R"({"model_type": "opt", "hidden_size": 768, "num_hidden_layers": 12,
      "num_attention_heads": 12, "ffn_dim": 3072, "max_position_embeddings": 2048,
      "vocab_size": 50272, "word_embed_proj_dim": 768})"),
            125'239'296U);  // OPT 125M
  EXPECT_EQ(parameters_of(R"({"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12,
      "num_attention_heads": 12, "intermediate_size": 3072, "max_position_embeddings": 512,
      "type_vocab_size": 2, "vocab_size": 30522})"),
            109'482'240U);  // BERT base
}

TEST(ModelConfig, RefusesWhatIsNoModelAndSaysWhy) {
  const auto why = [](const std::string& text) {
    const auto model = parse_model_config(text);
    return model ? "accepted" : model.error().message();
  };
  EXPECT_THAT(why("[]"), HasSubstr("no JSON object"));
  EXPECT_THAT(why("{"), HasSubstr("no JSON object"));
  EXPECT_THAT(why("{}"), HasSubstr("no model_type"));
  EXPECT_THAT(why(std::string(100'000, '[')), HasSubstr("no JSON object"));
  EXPECT_THAT(why(R"({"model_type": "mamba"})"), HasSubstr("\"mamba\""));
  EXPECT_THAT(why(R"({"model_type": "llama"})"), HasSubstr("no num_hidden_layers"));
  const std::string start = R"({"model_type": "llama", "num_hidden_layers": 2, "vocab_size": 9,
      "num_attention_heads": 2, "intermediate_size": 4, "hidden_size": )";
  EXPECT_THAT(why(start + "-4}"), HasSubstr("hidden_size"));
  EXPECT_THAT(why(start + "4.5}"), HasSubstr("hidden_size"));
  EXPECT_THAT(why(start + "18446744073709551615}"), HasSubstr("hidden_size"));
  EXPECT_THAT(why(start + "\"4096\"}"), HasSubstr("hidden_size"));
  EXPECT_THAT(why(R"({"model_type": "mixtral", "hidden_size": 262144, "num_hidden_layers": 4096,
      "num_attention_heads": 64, "intermediate_size": 1048576, "vocab_size": 16777216,
      "num_local_experts": 1024})"),
              HasSubstr("no model"));
}

TEST(ParameterCount, IsReadAsPeopleWriteIt) {
  EXPECT_EQ(parse_parameter_count("7B").value(), 7'000'000'000U);
  EXPECT_EQ(parse_parameter_count("350M").value(), 350'000'000U);
  EXPECT_EQ(parse_parameter_count("1.1e9").value(), 1'100'000'000U);
  EXPECT_EQ(parse_parameter_count("1.5T").value(), 1'500'000'000'000U);
  for (const char* wrong : {"", "B", "-7B", "7BB", "nan", "inf", "1e300", "0", "0.0001", "７B",
                            "99999999999999999999999T"}) {
    EXPECT_FALSE(parse_parameter_count(wrong)) << wrong;
  }
}

ByteRange part(const Estimate& from, MemoryPart which) {
  const auto found = from.of(which);
  EXPECT_TRUE(found) << name_of(which);
  return found.value_or(ByteRange{});
}

Estimate training(std::string_view how, Workload workload, std::uint64_t parameters = 1'000'000) {
  EXPECT_TRUE(set_training(how, workload)) << how;
  Model model = model_of_size(parameters);
  model.shape.reset();
  return estimate(model, workload);
}

/// Bytes per parameter of all that stays over a step.
std::pair<double, double> lasting(const Estimate& from) {
  double low = 0;
  double high = 0;
  for (const PartSize& each : from.parts) {
    if (each.part == MemoryPart::context || each.part == MemoryPart::allocator) continue;
    low += static_cast<double>(each.size.low.count()) / 1e6;
    high += static_cast<double>(each.size.high.count()) / 1e6;
  }
  return {low, high};
}

TEST(Estimate, MixedAdamTakesSixteenBytesPerParameterAsTheZeroPaperSays) {
  const auto [low, high] = lasting(training("adam", {.precision = Precision::bf16, .mixed = true}));
  EXPECT_DOUBLE_EQ(low, 16);   // Rajbhandari et al. 2020, 3.1: 2 + 2 + 12
  EXPECT_DOUBLE_EQ(high, 18);  // autocast keeps FP32 gradients
}

TEST(Estimate, ZeroStagesDivideWhatThePaperDivides) {
  // Figure 1 there: 7.5 billion parameters, 64 GPUs: 120, 31.4, 16.6 and 1.9 GB.
  const auto gigabytes = [](Sharding sharding) {
    Workload workload{
        .precision = Precision::fp16, .mixed = true, .gpus = 64, .sharding = sharding};
    const auto found = lasting(training("adam", workload, 7'500'000'000));
    return found.first / 1e3;
  };
  EXPECT_NEAR(gigabytes(Sharding::none), 120, 0.1);
  EXPECT_NEAR(gigabytes(Sharding::zero1), 31.4, 0.1);
  EXPECT_NEAR(gigabytes(Sharding::zero2), 16.6, 0.1);
  EXPECT_NEAR(gigabytes(Sharding::zero3), 1.9, 0.1);
}

TEST(Estimate, OptimizersKeepWhatTheyKeep) {
  EXPECT_EQ(lasting(training("adam", {.precision = Precision::fp32})), std::pair(16.0, 16.0));
  EXPECT_EQ(lasting(training("adamw", {.precision = Precision::bf16})), std::pair(8.0, 8.0));
  EXPECT_EQ(lasting(training("sgd", {.precision = Precision::fp32})), std::pair(8.0, 8.0));
  EXPECT_EQ(lasting(training("sgd-momentum", {.precision = Precision::fp32})),
            std::pair(12.0, 12.0));
  EXPECT_DOUBLE_EQ(lasting(training("adam8bit", {.precision = Precision::bf16})).first, 6);
}

TEST(Estimate, LoraOfSevenBillionIsThatOfTheWeightsAndLittleMore) {
  Workload workload{.precision = Precision::bf16};
  ASSERT_TRUE(set_training("lora:8", workload));
  const Estimate lora = estimate(model_of_size(6'738'415'616), workload);
  EXPECT_EQ(part(lora, MemoryPart::weights).low.count(), 2 * 6'738'415'616U);
  // Query and value of Llama 2 7B at rank 8: the 4194304 parameters that peft prints.
  EXPECT_EQ(part(lora, MemoryPart::adapters).low.count(), 4 * 4'194'304U);
  EXPECT_EQ(part(lora, MemoryPart::optimizer).low.count(), 8 * 4'194'304U);
  Workload quantised{.precision = Precision::bf16};
  ASSERT_TRUE(set_training("qlora", quantised));
  const ByteRange weights =
      part(estimate(model_of_size(6'738'415'616), quantised), MemoryPart::weights);
  EXPECT_LT(weights.high.count(), part(lora, MemoryPart::weights).low.count() / 3);
}

TEST(Estimate, ActivationsAreThoseOfThePublishedFormula) {
  // Korthikanti et al. 2022, GPT-3 175B: s = 2048, h = 12288, a = 96: 5·a·s/h = 80.
  Model model = model_of_size(175'000'000'000);
  model.shape->vocabulary = 1;
  Workload workload{.precision = Precision::fp16, .batch = 1, .sequence = 2048};
  ASSERT_TRUE(set_training("sgd", workload));
  const ByteRange all = part(estimate(model, workload), MemoryPart::activations);
  const double unit = 2048.0 * 12288.0 * 96;
  EXPECT_NEAR(static_cast<double>(all.low.count()) / unit, 34, 0.01);
  EXPECT_NEAR(static_cast<double>(all.high.count()) / unit, 114, 0.01);
  workload.checkpointing = true;
  const ByteRange few = part(estimate(model, workload), MemoryPart::activations);
  EXPECT_NEAR(static_cast<double>(few.low.count()) / unit, 2 + 34.0 / 96, 0.01);
}

TEST(Estimate, TheCacheOfKeysIsHalfAMebibytePerTokenOfLlama7B) {
  const Model model = model_of_size(6'738'415'616);
  const Workload workload{.precision = Precision::fp16, .batch = 2, .sequence = 1024};
  EXPECT_EQ(part(estimate(model, workload), MemoryPart::kv_cache).low.count(),
            2 * 1024 * (512U << 10));
}

TEST(Estimate, TensorParallelLeavesEachGpuAHeadOfKeys) {
  const Model model = model_of_size(68'976'648'192);  // 8 heads of keys, 64 of queries
  const auto cache = [&](std::uint64_t gpus) {
    const Workload workload{.gpus = gpus, .sharding = Sharding::tensor_parallel};
    return part(estimate(model, workload), MemoryPart::kv_cache).low.count() >> 20;
  };
  EXPECT_EQ(cache(4), 160U);
  EXPECT_EQ(cache(8), 80U);
  EXPECT_EQ(cache(64), 80U);
  // With 128 GPUs it would fit here, but there are 64 heads to divide.
  const Workload workload{.sequence = 1 << 17};
  const Workload most{.sequence = 1 << 17, .gpus = 64, .sharding = Sharding::tensor_parallel};
  const Bytes room = estimate(model, most).total.high;
  EXPECT_EQ(fewest_gpus(model, workload, Sharding::tensor_parallel, room), 64U);
  EXPECT_EQ(fewest_gpus(model, workload, Sharding::tensor_parallel, Bytes(room.count() - 1)),
            std::nullopt);
}

TEST(Estimate, QuantisedWeightsLeaveTheEmbeddingsInSixteenBits) {
  const auto weights = [](Precision precision) {
    const ByteRange range =
        part(estimate(model_of_size(8'030'261'248), {.precision = precision}), MemoryPart::weights);
    return std::pair(static_cast<double>(range.low.count()) / (1 << 30),
                     static_cast<double>(range.high.count()) / (1 << 30));
  };
  EXPECT_NEAR(weights(Precision::int4).first, 5.31, 0.01);
  EXPECT_NEAR(weights(Precision::int4).second, 5.61, 0.01);
  EXPECT_NEAR(weights(Precision::int8).first, 8.46, 0.01);
  EXPECT_NEAR(weights(Precision::bf16).first, 14.96, 0.01);
}

TEST(Estimate, ALongPromptKeepsNoMatrixOfItsTokens) {
  const Workload workload{.sequence = 1 << 17};
  const ByteRange read =
      part(estimate(model_of_size(8'030'261'248), workload), MemoryPart::activations);
  // 4·s·h·2 and 8·s·h·2, with one token's logits.
  EXPECT_EQ(read.low.count(), (4ULL << 30) + 4 * 128256);
  EXPECT_EQ(read.high.count(), (8ULL << 30) + 4 * 128256);
}

TEST(Estimate, StoredWeightsAreComputedWithAsTheyAreStored) {
  Model model = model_of_size(1'000'000);
  model.stored_bytes = 4'000'000;
  const auto cache = [&](const Workload& workload) {
    return part(estimate(model, workload), MemoryPart::kv_cache).low.count();
  };
  const std::uint64_t sixteen_bits = cache({});
  model.stored_as = Precision::fp32;
  EXPECT_EQ(cache({}), 2 * sixteen_bits);
  EXPECT_EQ(cache({.precision = Precision::fp16}), sixteen_bits);
  EXPECT_EQ(estimate(model, {}).precision, Precision::fp32);
  const auto trained_in = [&](std::string_view how, Workload workload) {
    EXPECT_TRUE(set_training(how, workload));
    return estimate(model, workload).precision;
  };
  EXPECT_EQ(trained_in("adam", {}), Precision::fp32);
  EXPECT_EQ(trained_in("adam", {.mixed = true}), Precision::bf16);
  EXPECT_EQ(trained_in("qlora", {}), Precision::bf16);
  model.stored_as = Precision::fp8;
  EXPECT_EQ(trained_in("lora", {}), Precision::bf16);
  EXPECT_EQ(estimate(model, {}).precision, Precision::fp8);
}

/// A config of llama's family with more in it.
Result<Model> configured(const std::string& more) {
  return parse_model_config(R"({"model_type": "llama", "hidden_size": 4096, "vocab_size": 32000,
      "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 11008)" +
                            more + "}");
}

TEST(Config, SaysWhatItsWeightsAreKeptIn) {
  const std::vector<std::pair<std::string, std::optional<Precision>>> cases = {
      {"", std::nullopt},
      {R"(, "torch_dtype": "float32")", Precision::fp32},
      {R"(, "torch_dtype": "float16")", Precision::fp16},
      {R"(, "dtype": "bfloat16")", Precision::bf16},
      {R"(, "torch_dtype": "auto")", std::nullopt},
      {R"(, "torch_dtype": 16)", std::nullopt},
      {R"(, "torch_dtype": "float16", "quantization_config": {"quant_method": "gptq", "bits": 4})",
       Precision::int4},
      {R"(, "quantization_config": {"quant_method": "awq", "bits": 8})", Precision::int8},
      {R"(, "quantization_config": {"load_in_4bit": true})", Precision::int4},
      {R"(, "quantization_config": {"load_in_4bit": false, "load_in_8bit": true})",
       Precision::int8},
      {R"(, "quantization_config": {"quant_method": "fp8"})", Precision::fp8},
      {R"(, "torch_dtype": "bfloat16", "quantization_config": {"bits": "four"})", Precision::bf16},
      {R"(, "torch_dtype": "bfloat16", "quantization_config": 4)", Precision::bf16},
  };
  for (const auto& [more, kept] : cases) {
    const auto model = configured(more);
    ASSERT_TRUE(model) << more;
    EXPECT_EQ(model->stored_as, kept) << more;
  }
  const auto wide = configured(R"(, "torch_dtype": "float32")");
  EXPECT_EQ(part(estimate(*wide, {}), MemoryPart::weights).low.count(), 4 * *wide->parameters);
  EXPECT_EQ(part(estimate(*wide, {.precision = Precision::fp16}), MemoryPart::weights).low.count(),
            2 * *wide->parameters);
  const auto small = configured(R"(, "quantization_config": {"bits": 4})");
  EXPECT_LT(part(estimate(*small, {}), MemoryPart::weights).high.count(), *small->parameters);
}

TEST(Config, SaysHowItsFourBitsAreStored) {
  struct Case {
    const char* more;
    const char* name;  // null: it does not say
    double bits, embedding;
  };
  for (const Case& each : std::vector<Case>{
           {R"("quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32})",
            "gptq", 4.625, 16},
           {R"("quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128})",
            "awq", 4.15625, 16},
           {R"("quantization_config": {"load_in_4bit": true})", "nf4", 4.5, 16},
           {R"("quantization_config": {"load_in_4bit": true, "bnb_4bit_use_double_quant": true})",
            "nf4", 4.127, 16},
           {R"("quantization_config": {"quant_method": "mxfp4"})", "mxfp4", 4.25, 16},
           {R"("quantization_config": {"quant_method": "compressed-tensors", "config_groups":
               {"group_0": {"weights": {"num_bits": 4, "group_size": 128, "symmetric": true}}}})",
            "gptq", 4.125, 16},
           {R"("quantization": {"group_size": 128, "bits": 4})", "mlx4", 4.25, 4.25},
           {R"("quantization": {"group_size": 64, "bits": 8})", nullptr, 0, 0},
           {R"("quantization_config": {"quant_method": "awq", "bits": 8, "group_size": 128})",
            nullptr, 0, 0},
           {R"("quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 0})",
            nullptr, 0, 0},
           {R"("quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": -1})",
            nullptr, 0, 0},
           {R"("quantization": {"group_size": 1e30, "bits": 4})", nullptr, 0, 0},
           {R"("quantization": [4])", nullptr, 0, 0},
           {R"("quantization_config": {"config_groups": {"group_0": 4}})", nullptr, 0, 0}}) {
    const auto model = configured(std::string(", ") + each.more);
    ASSERT_TRUE(model) << each.more;
    ASSERT_EQ(model->four_bits.has_value(), each.name != nullptr) << each.more;
    if (each.name == nullptr) continue;
    EXPECT_EQ(model->stored_as, Precision::int4) << each.more;
    EXPECT_EQ(model->four_bits->name, each.name);
    EXPECT_DOUBLE_EQ(model->four_bits->least, each.bits) << each.more;
    EXPECT_DOUBLE_EQ(model->four_bits->most, each.bits) << each.more;
    EXPECT_DOUBLE_EQ(model->four_bits->embedding, each.embedding) << each.more;
  }
}

TEST(Estimate, AFormatThatWasAskedForWinsOverTheConfigs) {
  const auto model = configured(
      R"(, "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128})");
  const auto weights = [&](const Workload& workload) {
    return part(estimate(*model, workload), MemoryPart::weights);
  };
  const ByteRange own = weights({});
  EXPECT_EQ(weights({.precision = Precision::int4}), own);
  EXPECT_EQ(own.low, own.high);
  EXPECT_GT(weights({.precision = Precision::int4, .four_bits = four_bits_called("q4_k_m")}).low,
            own.high);
  EXPECT_EQ(four_bits_called("int4"), std::nullopt);
  EXPECT_EQ(four_bits_called(""), std::nullopt);
}

TEST(Workload, HeadsAreDividedAmongGpusOnlyWithoutRest) {
  const auto model = configured("");
  const auto among = [](std::uint64_t gpus) {
    return Workload{.gpus = gpus, .sharding = Sharding::tensor_parallel};
  };
  EXPECT_FALSE(mistake_in(*model, among(8)));
  EXPECT_TRUE(mistake_in(*model, among(3)));
  EXPECT_TRUE(mistake_in(*model, among(64)));
  EXPECT_FALSE(mistake_in(model_of_size(7'000'000'000), among(3))) << "its shape is borrowed";
}

TEST(Estimate, AnEncoderKeepsNoKeys) {
  const auto bert = parse_model_config(R"({"model_type": "bert", "hidden_size": 768,
      "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
      "max_position_embeddings": 512, "type_vocab_size": 2, "vocab_size": 30522})");
  ASSERT_TRUE(bert);
  EXPECT_EQ(estimate(*bert, {}).of(MemoryPart::kv_cache), std::nullopt);
  EXPECT_TRUE(estimate(*bert, {}).of(MemoryPart::activations));
}

TEST(Estimate, PackedWeightsOfUnknownCountAreTakenAsStoredAndNothingElse) {
  Model model{.stored_bytes = 1 << 20, .stored_as = Precision::fp16};
  EXPECT_FALSE(mistake_in(model, {}));
  EXPECT_EQ(part(estimate(model, {}), MemoryPart::weights).low.count(), 1U << 20);
  EXPECT_TRUE(mistake_in(model, {.precision = Precision::bf16}));
  Workload training;
  ASSERT_TRUE(set_training("lora", training));
  EXPECT_TRUE(mistake_in(model, training));
  model.parameters = 7'000'000'000;
  EXPECT_FALSE(mistake_in(model, training));
}

TEST(Estimate, AbsurdSizesDoNotWrap) {
  Model model = model_of_size(most_parameters);
  Workload workload{.batch = ~0ULL, .sequence = ~0ULL};
  ASSERT_TRUE(set_training("adam", workload));
  const Estimate huge = estimate(model, workload);
  EXPECT_GT(huge.total.high.count(), 1ULL << 60);
  EXPECT_EQ(verdict_of(huge.total, Bytes(1ULL << 40)), Verdict::too_small);
}

TEST(Workload, SaysWhatDoesNotGoTogether) {
  Workload int8{.trains = true, .precision = Precision::int8};
  EXPECT_TRUE(mistake_in(int8));
  EXPECT_TRUE(mistake_in({.mixed = true}));
  EXPECT_TRUE(mistake_in({.sharding = Sharding::zero3}));
  EXPECT_FALSE(mistake_in({.gpus = 2, .sharding = Sharding::zero3}));
  Workload workload;
  for (const char* wrong : {"adma", "lora:0", "lora:x", "lora:99999", "", "sgd:8"}) {
    EXPECT_FALSE(set_training(wrong, workload)) << wrong;
  }
}

std::string length_of(std::uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xFF);
  return bytes;
}

TEST(Safetensors, SumsWhatTheHeaderLists) {
  const auto found = parse_safetensors_header(
      R"({"__metadata__": {"format": "pt"},
          "a": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]},
          "b": {"dtype": "F32", "shape": [], "data_offsets": [12, 16]}})",
      16);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->parameters(), 7U);
  EXPECT_EQ(found->prevailing(), Precision::bf16);
  EXPECT_EQ(found->bytes, 16U);
  EXPECT_EQ(found->bytes_of_type.at("BF16"), 12U);
}

TEST(Safetensors, PackedWordsAreNoCountOfWeights) {
  const auto found = [](std::string_view name, std::string_view type, int bytes) {
    const std::string size = std::to_string(8 * bytes);
    auto all = parse_safetensors_header(
        "{\"" + std::string(name) + "\": {\"dtype\": \"" + std::string(type) +
            "\", \"shape\": [8], \"data_offsets\": [0, " + size +
            "]}, \"norm.weight\": " + R"({"dtype": "F16", "shape": [2], "data_offsets": [)" + size +
            ", " + std::to_string(8 * bytes + 4) + "]}}",
        8 * static_cast<std::uint64_t>(bytes) + 4);
    EXPECT_TRUE(all) << name;
    return all.value_or(StoredTensors{});
  };
  EXPECT_EQ(found("layers.0.q_proj.qweight", "I32", 4).parameters(), std::nullopt);  // GPTQ
  EXPECT_EQ(found("layers.0.q_proj.weight_packed", "I32", 4).parameters(), std::nullopt);
  EXPECT_EQ(found("layers.0.q_proj.weight", "U32", 4).parameters(), std::nullopt);  // MLX
  EXPECT_EQ(found("layers.0.q_proj.weight", "U8", 1).parameters(), std::nullopt);   // NF4
  EXPECT_EQ(found("layers.0.q_proj.weight", "I8", 1).parameters(), 10U);
  EXPECT_EQ(found("embeddings.position_ids", "I32", 4).parameters(), 10U);
  EXPECT_EQ(found("layers.0.q_proj.qweight", "I32", 4).prevailing(), Precision::fp16);
  StoredTensors plain{.elements = 5, .bytes = 10, .bytes_of_type = {{"F16", 10}}};
  ASSERT_TRUE(plain.add(found("a.qweight", "I32", 4)));
  EXPECT_EQ(plain.parameters(), std::nullopt);
}

TEST(Safetensors, RefusesHostileHeaders) {
  EXPECT_FALSE(safetensors_header_length("short", 100));
  EXPECT_FALSE(safetensors_header_length(length_of(~0ULL), 100));
  EXPECT_FALSE(safetensors_header_length(length_of(longest_safetensors_header + 1), ~0ULL));
  EXPECT_FALSE(safetensors_header_length(length_of(93), 100));
  EXPECT_EQ(safetensors_header_length(length_of(92), 100).value(), 92U);
  for (const char* wrong :
       {"", "[]", "{\"a\": 1}", R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}})",
        R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}})",
        R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8000]}})",
        R"({"a": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}})",
        R"({"a": {"dtype": "X", "shape": [4294967296, 4294967296, 2], "data_offsets": [0, 8]}})",
        R"({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
            "b": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}})"}) {
    EXPECT_FALSE(parse_safetensors_header(wrong, 8)) << wrong;
  }
  EXPECT_FALSE(parse_safetensors_header(std::string(10'000, '['), 8));
}

TEST(Safetensors, AnIndexNamesFilesOfItsOwnFolderAlone) {
  const auto files = parse_safetensors_index(
      R"({"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors", "c": "m-1.safetensors"}})");
  ASSERT_TRUE(files);
  EXPECT_THAT(*files, ElementsAre("m-1.safetensors", "m-2.safetensors"));
  EXPECT_FALSE(parse_safetensors_index(R"({"weight_map": {"a": "../../etc/passwd"}})"));
  EXPECT_FALSE(parse_safetensors_index(R"({"weight_map": {"a": 1}})"));
  EXPECT_FALSE(parse_safetensors_index("{}"));
}

TEST(Safetensors, AnIndexSaysWhatItsFilesTakeTogether) {
  EXPECT_EQ(total_size_in_index(R"({"metadata": {"total_size": 16060522496}})"), 16060522496U);
  for (const char* wrong : {"", "{}", R"({"metadata": 1})", R"({"metadata": {"total_size": -1}})",
                            R"({"metadata": {"total_size": 0}})",
                            R"({"metadata": {"total_size": 18446744073709551615}})"}) {
    EXPECT_EQ(total_size_in_index(wrong), std::nullopt) << wrong;
  }
}

TEST(Places, JudgeByWhatIsFreeNow) {
  const ByteRange need{Bytes(10ULL << 30), Bytes(20ULL << 30)};
  const std::vector<DeviceVerdict> devices =
      judged({{0, "A", Bytes(24ULL << 30), Bytes(24ULL << 30)},
              {1, "A", Bytes(12ULL << 30), Bytes(24ULL << 30)},
              {2, "A", Bytes(1ULL << 30), Bytes(24ULL << 30)},
              {3, "A", Absent::failed, Absent::failed}},
             need);
  EXPECT_EQ(devices[0].now, Verdict::fits);
  EXPECT_EQ(devices[1].now, Verdict::tight);
  EXPECT_EQ(devices[2].now, Verdict::too_small);
  EXPECT_EQ(devices[2].if_empty, Verdict::fits);
  EXPECT_EQ(devices[3].now, std::nullopt);
  EXPECT_EQ(count_of(devices, Verdict::fits), 1U);
}

TEST(Places, TheSmallestCardThatFitsComesFirst) {
  const ByteRange need{Bytes(40ULL << 30), Bytes(60ULL << 30)};
  const CardVerdict* first = nullptr;
  const auto cards = judged_cards(need, Precision::fp8);
  for (const CardVerdict& row : cards) {
    if (first == nullptr && row.verdict == Verdict::fits && row.lacks_precision == false)
      first = &row;
    if (row.card->name == "A100-SXM4-80GB") {
      EXPECT_EQ(row.lacks_precision, true);
    }
    if (row.card->name == "Huawei Ascend 910B1") {
      EXPECT_EQ(row.lacks_precision, std::nullopt) << "no source has its rates";
    }
  }
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->card->name, "H100 PCIe");
}

TEST(Places, CardsWithoutTheAssumedTypeAreNotAdvised) {
  const Estimate seven = estimate(model_of_size(7'000'000'000), {});
  EXPECT_EQ(seven.precision, Precision::bf16);
  int old = 0;
  for (const CardVerdict& row : judged_cards(seven.total, seven.precision)) {
    if (!row.card->has_capability()) {
      EXPECT_NE(row.lacks_precision, true) << row.card->name;
      continue;
    }
    if (row.card->capability >= ComputeCapability{8, 0}) continue;
    ++old;
    EXPECT_EQ(row.lacks_precision, true) << row.card->name;
  }
  EXPECT_GT(old, 20);
}

TEST(Places, SevenBillionWithMixedAdamWantSeveralGpus) {
  Workload workload{.precision = Precision::bf16, .mixed = true, .checkpointing = true};
  ASSERT_TRUE(set_training("adam", workload));
  const Model model = model_of_size(7'000'000'000);
  EXPECT_EQ(verdict_of(estimate(model, workload).total, Bytes(80ULL << 30)), Verdict::too_small);
  EXPECT_EQ(fewest_gpus(model, workload, Sharding::zero3, Bytes(80ULL << 30)), 2U);
  EXPECT_EQ(fewest_gpus(model, workload, Sharding::zero3, Bytes(1ULL << 28)), std::nullopt);
}

}  // namespace
}  // namespace berth
