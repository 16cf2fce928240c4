// The index arrays of a plan, as cortex.ilir.index_arrays lists them.
#pragma once

#include "plan.h"

namespace cortex {

// A kind of index array: X(name in Python, name here).
#define CORTEX_INDEX_KINDS(X) \
  X(NUM_NODES, NumNodes) \
  X(NUM_INNER, NumInner) \
  X(NUM_EDGES, NumEdges) \
  X(NUM_BATCHES, NumBatches) \
  X(NUM_ROOTS, NumRoots) \
  X(WIDEST_NODES, WidestNodes) \
  X(WIDEST_EDGES, WidestEdges) \
  X(BATCH_BEGIN, BatchBegin) \
  X(BATCH_LENGTH, BatchLength) \
  X(CHILD_BEGIN, ChildBegin) \
  X(CHILD, Child) \
  X(ROOTS, Roots) \
  X(POSITION, Position) \
  X(NUM_CARRIERS, NumCarriers) \
  X(NUM_INNER_CARRIERS, NumInnerCarriers) \
  X(CARRIER, Carrier) \
  X(CARRIER_PLACE, CarrierPlace) \
  X(NUM_STEPS, NumSteps) \
  X(NUM_TOPS, NumTops) \
  X(TOP_BEGIN, TopBegin) \
  X(STEP_TOP, StepTop) \
  X(HEIGHT, Height) \
  X(STEP_GROUP, StepGroup) \
  X(CLASS_LENGTH, ClassLength) \
  X(STRUCTURE_COUNT, StructureCount) \
  X(MEMBER_BEGIN, MemberBegin) \
  X(MEMBER, Member) \
  X(STRUCTURE_OF, StructureOf) \
  X(STORAGE_ROWS, StorageRows) \
  X(STORAGE_BEGIN, StorageBegin) \
  X(STORAGE_ROW, StorageRow) \
  X(PAYLOAD_BEGIN, PayloadBegin) \
  X(PAYLOAD_SIZE, PayloadSize)

enum class IndexKind {
#define CORTEX_KIND(python, kind) kind,
  CORTEX_INDEX_KINDS(CORTEX_KIND)
#undef CORTEX_KIND
};

// One array or size: its name in the result, its kind, and of some kinds the index of a payload, or a number.
struct Request {
  Request(nb::handle array, const PlanSpec& plan);

  nb::object name;  // interned
  IndexKind kind;
  std::size_t payload = 0;
  std::int64_t number = 0;
};

}  // namespace cortex
