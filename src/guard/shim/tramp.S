/* The image that elf_image.cc fills in (guard/image.h), and what stands for the functions of the
 * driver that the shim does not wrap: trampoline N jumps to the driver's function of the N-th name.
 * At its first call it finds it, with all arguments kept. */

#include "guard/image.h"

#ifndef BERTH_GUARD_IMAGE_ELSEWHERE /* tests link an image in place of writing it */
  .section .data.berth_guard_image, "aw"
  .globl berth_guard_image
  .hidden berth_guard_image
  .type berth_guard_image, %object
  .balign 8
berth_guard_image:
  .ascii BERTH_GUARD_IMAGE_MAGIC
  .zero 4096 - 16
  .size berth_guard_image, . - berth_guard_image
#endif

  .bss
  .balign 8
slots: /* what each trampoline has found; 0: nothing yet */
  .zero 8 * BERTH_GUARD_TRAMPOLINES

  .text
  .balign BERTH_GUARD_TRAMPOLINE_BYTES
  .globl berth_guard_tramp_0
  .type berth_guard_tramp_0, %function
berth_guard_tramp_0:

#if defined(__x86_64__)

  .set number, 0
  .rept BERTH_GUARD_TRAMPOLINES
  .balign BERTH_GUARD_TRAMPOLINE_BYTES
  endbr64
  movq slots + 8 * number(%rip), %r11
  testq %r11, %r11
  jz 1f
  jmpq *%r11
1:
  movl $number, %r11d
  jmp find
  .set number, number + 1
  .endr

/* r11: the trampoline. Below the frame pointer: 8 general and 8 vector registers. */
find:
  pushq %rbp
  movq %rsp, %rbp
  andq $-16, %rsp
  subq $208, %rsp
  movq %rdi, 0(%rsp)
  movq %rsi, 8(%rsp)
  movq %rdx, 16(%rsp)
  movq %rcx, 24(%rsp)
  movq %r8, 32(%rsp)
  movq %r9, 40(%rsp)
  movq %rax, 48(%rsp)
  movq %r10, 56(%rsp)
  movq %r11, 64(%rsp)
  .irp vector, 0, 1, 2, 3, 4, 5, 6, 7
  movaps %xmm\vector, 80 + 16 * \vector(%rsp)
  .endr
  movl %r11d, %edi
  call berth_guard_resolve
  movq 64(%rsp), %rcx
  leaq slots(%rip), %rdx
  movq %rax, (%rdx, %rcx, 8)
  movq %rax, %r11
  .irp vector, 0, 1, 2, 3, 4, 5, 6, 7
  movaps 80 + 16 * \vector(%rsp), %xmm\vector
  .endr
  movq 0(%rsp), %rdi
  movq 8(%rsp), %rsi
  movq 16(%rsp), %rdx
  movq 24(%rsp), %rcx
  movq 32(%rsp), %r8
  movq 40(%rsp), %r9
  movq 48(%rsp), %rax
  movq 56(%rsp), %r10
  movq %rbp, %rsp
  popq %rbp
  jmpq *%r11

#elif defined(__aarch64__)

  .set number, 0
  .rept BERTH_GUARD_TRAMPOLINES
  .balign BERTH_GUARD_TRAMPOLINE_BYTES
  hint #34 /* bti c */
  adrp x16, slots + 8 * number
  ldr x16, [x16, :lo12:(slots + 8 * number)]
  cbz x16, 1f
  br x16
1:
  mov w17, #number
  b find
  .set number, number + 1
  .endr

/* w17: the trampoline. x0 to x8 and q0 to q7 are arguments. */
find:
  stp x29, x30, [sp, #-224]!
  mov x29, sp
  stp x0, x1, [sp, #16]
  stp x2, x3, [sp, #32]
  stp x4, x5, [sp, #48]
  stp x6, x7, [sp, #64]
  stp x8, x17, [sp, #80]
  stp q0, q1, [sp, #96]
  stp q2, q3, [sp, #128]
  stp q4, q5, [sp, #160]
  stp q6, q7, [sp, #192]
  mov w0, w17
  bl berth_guard_resolve
  mov x16, x0
  ldp x8, x17, [sp, #80]
  adrp x9, slots
  add x9, x9, :lo12:slots
  str x16, [x9, x17, lsl #3]
  ldp x0, x1, [sp, #16]
  ldp x2, x3, [sp, #32]
  ldp x4, x5, [sp, #48]
  ldp x6, x7, [sp, #64]
  ldp q0, q1, [sp, #96]
  ldp q2, q3, [sp, #128]
  ldp q4, q5, [sp, #160]
  ldp q6, q7, [sp, #192]
  ldp x29, x30, [sp], #224
  br x16

#else
#error "berth's cap knows x86_64 and aarch64"
#endif
  .size berth_guard_tramp_0, . - berth_guard_tramp_0

  .section .note.GNU-stack, "", %progbits
