#pragma once
// File sizes of published checkpoints of 4 bits, for published_test.cc.

#include <array>
#include <string_view>

namespace berth::published {

struct FourBitModel {
  std::string_view name;
  std::string_view type;
  int hidden, inner, layers, heads, kv_heads, head_size, words;
  bool tied = false;
  std::string_view more = "";  // in its config
};

inline constexpr auto four_bit_models = std::to_array<FourBitModel>({
    {"Llama 2 7B", "llama", 4096, 11008, 32, 32, 32, 128, 32000},
    {"Llama 2 13B", "llama", 5120, 13824, 40, 40, 40, 128, 32000},
    {"Llama 2 70B", "llama", 8192, 28672, 80, 64, 8, 128, 32000},
    {"CodeLlama 34B", "llama", 8192, 22016, 48, 64, 8, 128, 32000},
    {"Llama 3 8B", "llama", 4096, 14336, 32, 32, 8, 128, 128256},
    {"Llama 3 70B", "llama", 8192, 28672, 80, 64, 8, 128, 128256},
    {"Llama 3.2 1B", "llama", 2048, 8192, 16, 32, 8, 64, 128256, true},
    {"Llama 3.2 3B", "llama", 3072, 8192, 28, 24, 8, 128, 128256, true},
    {"TinyLlama 1.1B", "llama", 2048, 5632, 22, 32, 4, 64, 32000},
    {"Yi 34B", "llama", 7168, 20480, 60, 56, 8, 128, 64000},
    {"Mistral 7B", "mistral", 4096, 14336, 32, 32, 8, 128, 32000},
    {"Mistral 7B v0.3", "mistral", 4096, 14336, 32, 32, 8, 128, 32768},
    {"Mistral Small 24B", "mistral", 5120, 32768, 40, 32, 8, 128, 131072},
    {"Mixtral 8x7B", "mixtral", 4096, 14336, 32, 32, 8, 128, 32000, false,
     R"(, "num_local_experts": 8)"},
    {"Qwen2.5 7B", "qwen2", 3584, 18944, 28, 28, 4, 128, 152064},
    {"Qwen2.5 14B", "qwen2", 5120, 13824, 48, 40, 8, 128, 152064},
    {"Qwen2.5 32B", "qwen2", 5120, 27648, 64, 40, 8, 128, 152064},
    {"Qwen2.5 72B", "qwen2", 8192, 29568, 80, 64, 8, 128, 152064},
    {"Qwen3 8B", "qwen3", 4096, 12288, 36, 32, 8, 128, 151936},
    {"Qwen3 30B-A3B", "qwen3_moe", 2048, 6144, 48, 32, 4, 128, 151936, false,
     R"(, "moe_intermediate_size": 768, "num_experts": 128)"},
    {"Gemma 2 9B", "gemma2", 3584, 14336, 42, 16, 8, 256, 256000, true},
    {"Gemma 3 27B", "gemma3_text", 5376, 21504, 62, 32, 16, 128, 262144, true},
    {"Phi-3 mini", "phi3", 3072, 8192, 32, 32, 32, 96, 32064},
    {"phi-4", "phi3", 5120, 17920, 40, 40, 10, 128, 100352},
    {"gpt-oss-20b", "gpt_oss", 2880, 2880, 24, 64, 8, 64, 201088, false,
     R"(, "num_local_experts": 32, "attention_bias": true)"},
});

/// `how`: the format as --dtype has it; or, from a comma on, what the config says of it.
struct FourBitFile {
  std::string_view model;
  const char* how;
  double gigabytes;  // 10^9 bytes of all its files
  const char* source;
};

inline constexpr double gib = 1.073741824;

inline constexpr const char* bench_table =
    "size in llama-bench's table, as several public files print it, 2026-11-26";
inline constexpr const char* awq_config =
    R"(, "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128})";
inline constexpr const char* gptq_config =
    R"(, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128})";
inline constexpr const char* gptq_64_config =
    R"(, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 64})";
inline constexpr const char* gptq_32_config =
    R"(, "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 32})";
inline constexpr const char* nf4_config =
    R"(, "quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true,
        "bnb_4bit_use_double_quant": true})";
inline constexpr const char* mlx_config = R"(, "quantization": {"group_size": 64, "bits": 4})";
inline constexpr const char* mxfp4_config = R"(, "quantization_config": {"quant_method": "mxfp4"})";

inline constexpr auto four_bit_files = std::to_array<FourBitFile>({
    {"Llama 2 7B", "q4_0", 3.83,
     "https://huggingface.co/TheBloke/Llama-2-7B-GGUF/blob/"
     "984feed55e2a46b82bafae876b6aebf96cb2cb59/llama-2-7b.Q4_0.gguf"},
    {"Llama 2 13B", "q4_0", 6.86 * gib, bench_table},
    {"Llama 2 70B", "q4_0", 38.9,
     "https://huggingface.co/TheBloke/Llama-2-70B-GGUF/blob/"
     "18dfb7afa4b25935f4d5181db5a26d237c12ed51/llama-2-70b.Q4_0.gguf"},
    {"Llama 3 8B", "q4_0", 4.33 * gib, bench_table},
    {"Llama 3 70B", "q4_0", 37.22 * gib, bench_table},
    {"Gemma 3 27B", "q4_0", 14.49 * gib, bench_table},
    {"Llama 2 70B", "q4_k_m", 41.4,
     "https://huggingface.co/TheBloke/Llama-2-70B-GGUF/blob/"
     "22bccff15a8289e6265fa41a05f04497d2981a96/llama-2-70b.Q4_K_M.gguf"},
    {"Llama 3 8B", "q4_k_m", 4.58 * gib, bench_table},
    {"Llama 3 70B", "q4_k_m", 39.59 * gib, bench_table},
    {"Llama 3.2 1B", "q4_k_m", 762.81 / 1024 * gib, bench_table},
    {"Llama 3.2 3B", "q4_k_m", 1.87 * gib, bench_table},
    {"TinyLlama 1.1B", "q4_k_m", 636.18 / 1024 * gib, bench_table},
    {"Mistral 7B", "q4_k_m", 4.07 * gib, bench_table},
    {"Mixtral 8x7B", "q4_k_m", 26.49 * gib, bench_table},
    {"Qwen2.5 7B", "q4_k_m", 4.36 * gib, bench_table},
    {"Qwen2.5 14B", "q4_k_m", 8.37 * gib, bench_table},
    {"Qwen2.5 32B", "q4_k_m", 18.48 * gib, bench_table},
    {"Qwen3 8B", "q4_k_m", 4.68 * gib, bench_table},
    {"Gemma 2 9B", "q4_k_m", 5.76,
     "https://huggingface.co/bartowski/gemma-2-9b-it-GGUF/blob/main/"
     "gemma-2-9b-it-Q4_K_M.gguf"},
    {"Phi-3 mini", "q4_k_m", 2.23 * gib, bench_table},
    {"phi-4", "q4_k_m", 8.43 * gib, bench_table},
    {"Llama 2 7B", "gptq", 3.9,
     "https://huggingface.co/TheBloke/Llama-2-7B-GPTQ/blob/"
     "2e35e1bc0dce1ec3758da3e99d4ce0472f2191d4/gptq_model-4bit-128g.safetensors"},
    {"Llama 2 7B", gptq_64_config, 4.02,
     "https://huggingface.co/TheBloke/Llama-2-7B-GPTQ/blob/"
     "e7f60136eb44c19d729c600e78b084ae78d88134/gptq_model-4bit-64g.safetensors"},
    {"Llama 2 13B", gptq_config, 7.26,
     "https://huggingface.co/TheBloke/Llama-2-13B-GPTQ/blob/"
     "10839d20e057aa6750edcf92da57c9fe11868599/gptq_model-4bit-128g.safetensors"},
    {"Mistral 7B", gptq_config, 4.16,
     "https://huggingface.co/TheBloke/Mistral-7B-v0.1-GPTQ/blob/"
     "fb1228d3bf3ef8ff37f715e7cdcd71584c8de031/model.safetensors"},
    {"Mistral 7B", gptq_32_config, 4.57,
     "https://huggingface.co/TheBloke/Mistral-7B-Instruct-v0.1-GPTQ/blob/"
     "gptq-4bit-32g-actorder_True/model.safetensors"},
    {"Llama 2 7B", "awq", 3.89,
     "https://huggingface.co/TheBloke/Llama-2-7B-AWQ/commit/"
     "047872a16f7682ca93724b875fe3b875cfcc39a3"},
    {"Llama 2 13B", "awq", 7.25,
     "https://huggingface.co/TheBloke/Llama-2-13B-chat-AWQ/commit/"
     "b00eb0dc81e686104474336d68e69200f7408f59"},
    {"Llama 2 70B", "awq", 36.61,
     "https://huggingface.co/TheBloke/Llama-2-70B-AWQ/commit/"
     "aa5aace45d3b4ada0b6f1f3ff5670b6a56f7d297"},
    {"Mistral 7B", "awq", 4.15,
     "https://huggingface.co/TheBloke/Mistral-7B-v0.1-AWQ/tree/"
     "21da53468722ca2b5062c1603485d87c955093f1"},
    {"CodeLlama 34B", awq_config, 9.95 + 8.36,
     "https://huggingface.co/TheBloke/CodeLlama-34B-AWQ/tree/"
     "8b26e32e76993fa598ca08181cf81c93246dd636"},
    {"Yi 34B", awq_config, 9.96 + 9.26,
     "https://huggingface.co/TheBloke/Yi-34B-AWQ/tree/f1b2cd1b7459ceecfdc1fac5bb8725f13707c589"},
    {"Mixtral 8x7B", awq_config, 9.97 + 9.98 + 4.7,
     "https://huggingface.co/TheBloke/mixtral-8x7b-v0.1-AWQ/tree/"
     "435d4b036b1d3aaa67ff352db460045ba0484d03"},
    {"Llama 3 8B", "awq", 4.68 + 1.05,
     "https://huggingface.co/casperhansen/llama-3-8b-instruct-awq/tree/main"},
    {"Llama 3 70B", "awq", 4.97 + 6 * 4.89 + 3.36 + 2.1,
     "https://huggingface.co/casperhansen/llama-3-70b-instruct-awq/tree/"
     "d196b76878694db119af9b102a3d4e8e0f2ab161"},
    {"Qwen2.5 7B", "awq", 4.48 + 1.09,
     "https://huggingface.co/graelo/Qwen2.5-7B-Instruct-1M-AWQ/tree/main"},
    {"Qwen2.5 32B", awq_config, 3.94 + 3.98 + 3.95 + 3.98 + 3.48,
     "https://huggingface.co/Qwen/Qwen2.5-32B-Instruct-AWQ/tree/"
     "251a85a7dfd47d23dc308c69d2df71cf75b338f5"},
    {"Mistral 7B", nf4_config, 4.13,
     "https://huggingface.co/unsloth/mistral-7b-bnb-4bit/blob/"
     "a8fed9174a77c97a8ad673b29da127770d1e08c8/model.safetensors"},
    {"Mistral 7B v0.3", mlx_config, 4.08,
     "https://huggingface.co/mlx-community/Mistral-7B-v0.3-4bit/tree/main"},
    {"Qwen2.5 32B", "mlx4", 5.37 + 5.34 + 5.37 + 2.36,
     "https://huggingface.co/mlx-community/QwQ-32B-4bit/tree/main"},
    {"gpt-oss-20b", mxfp4_config, 13.761264768,
     "metadata.total_size of gpt-oss-20b's index, as public files quote it"},
});

// MLX of April 2024 left the embeddings in 16 bits. Its Llama 3 8B of then (5.27) is 14 % larger
// than this model.
inline constexpr auto four_bit_files_read_last = std::to_array<FourBitFile>({
    {"Qwen2.5 7B", "mlx4", 4.28,
     "https://huggingface.co/mlx-community/Qwen2.5-7B-Instruct-4bit/tree/"
     "44738f9eb6393adbb8e88d64719067076461055d"},
    {"Qwen2.5 72B", awq_config, 3.94 + 3 * 3.91 + 5 * 3.99 + 3.46 + 2.49,
     "https://huggingface.co/Qwen/Qwen2.5-72B-Instruct-AWQ/tree/"
     "bfe0f13f8beda9b6c713352fe8377d0fac27116e; the last of its files by the head's shape"},
    {"Mistral Small 24B", "q4_k_m", 13.34 * gib, bench_table},
    {"Qwen3 30B-A3B", "q4_k_m", 17.28 * gib, bench_table},
    {"Llama 3 8B", "mlx4", 4.52, "https://huggingface.co/lucataco/Meta-Llama-3-8B-4bit/tree/main"},
    {"Llama 3.2 3B", mlx_config, 1.81,
     "https://huggingface.co/mlx-community/Llama-3.2-3B-Instruct-4bit/tree/main"},
});

}  // namespace berth::published
