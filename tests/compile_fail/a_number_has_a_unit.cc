// refused: conversion from 'int' to non-scalar type
// A bare number does not become a quantity by itself: somebody has to say of what.
#include "base/units.h"

#ifdef BERTH_WRONG
berth::Bytes size = 4096;
#else
berth::Bytes size{4096};
#endif
