// refused: conversion from 'int' to non-scalar type
// A bare number is no quantity: the code must name the unit.
#include "base/units.h"

#ifdef BERTH_WRONG
berth::Bytes size = 4096;
#else
berth::Bytes size{4096};
#endif
