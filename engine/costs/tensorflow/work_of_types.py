"""What is known of an op's work from its type alone: hidden in something that is not read, or none at all.

The tests go through all op types that TensorFlow registers: each type with a function among its attributes, or of a
name that speaks of such work, must be here or have a formula.
"""

import re
from collections.abc import Mapping
from functools import cache

from engine.costs.arithmetic import COUNTS
from engine.costs.operations import light
from engine.costs.operations.traffic import VIEWS
from engine.costs.unknown import Unknown
from engine.graphs.tensorflow.op_table import registered_ops
from engine.graphs.tensorflow.op_types import CASES, FUNCTION_CALLS, IFS, LOOPS

EXPANDED_FUNCTIONS = FUNCTION_CALLS | {"XlaLaunch", "XlaLaunchV2", "RemoteCall", "BatchFunction", "TPUPartitionedCall"}
EXPANDED_IFS = IFS | {"_If", "XlaIf"}
EXPANDED_LOOPS = LOOPS | {"_While", "XlaWhile", "RiscWhile"}
EXPANDED_CALLS = EXPANDED_FUNCTIONS | EXPANDED_IFS | CASES | EXPANDED_LOOPS
"""ops whose work is in functions; it is counted where these can be expanded"""
_FUNCTIONS = frozenset(
    {
        *("SymbolicGradient", "For", "MapDefun", "RiscCondition", "RpcServerRegister", "FuncAttr", "FuncListAttr"),
        *("XlaReduce", "XlaReduceWindow", "XlaScatter", "XlaSelectAndScatter", "XlaHostCompute", "_XlaHostComputeMlir"),
        *("XlaVariadicReduce", "XlaVariadicReduceV2", "XlaVariadicSort"),
    }
)
_PIPELINES = frozenset(
    {
        *("ChooseFastestBranchDataset", "DataServiceDatasetV3", "DataServiceDatasetV4", "FilterDataset"),
        *("ExperimentalGroupByReducerDataset", "ExperimentalGroupByWindowDataset", "ExperimentalMapAndBatchDataset"),
        *("ExperimentalMapDataset", "ExperimentalParallelInterleaveDataset", "ExperimentalScanDataset"),
        *("ExperimentalTakeWhileDataset", "FlatMapDataset", "GeneratorDataset", "GroupByReducerDataset"),
        *("GroupByWindowDataset", "IndexFlatMapDataset", "InterleaveDataset", "LegacyParallelInterleaveDatasetV2"),
        *("LoadDataset", "MapAndBatchDataset", "MapDataset", "OneShotIterator", "ParallelFilterDataset"),
        *("ParallelInterleaveDataset", "ParallelInterleaveDatasetV2", "ParallelInterleaveDatasetV3"),
        *("ParallelInterleaveDatasetV4", "ParallelMapDataset", "ParallelMapDatasetV2", "ReduceDataset", "SaveDataset"),
        *("SaveDatasetV2", "ScanDataset", "SnapshotDatasetV2", "TakeWhileDataset"),
    }
)
_MODULES = frozenset({"XlaCallModule", "MlirPassthroughOp", "_XlaRun", "_XlaCompile", "_XlaMerge"})
_CODE = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc", "XlaCustomCall", "XlaCustomCallV2", "RpcCall"})
_ON_TPU = re.compile(
    r"_?.*(TPU|Tpu|SparseCore|DedupData).*|Xla(Sparse(Dense|Activations|Gradients)).*"
    r"|(GetMinibatch|StoreMinibatch|ConvertToCoo|GlobalIterId).*"
)
_TPU_WITHOUT_WORK = re.compile(
    r"TPU(Replicate(Metadata|dInput|dOutput)|PartitionedInput(V2)?|PartitionedOutput(V2)?|CompilationResult"
    r"|CompileSucceededAssert|DummyInput|EmbeddingActivations|OrdinalSelector|RoundRobin)"
    r"|GetTpuTaskId|TpuHandleToProtoKey|IsTPUEmbeddingInitialized"
)
"""ops of TPU graphs that pass tensors on, or only describe the graph"""
_EXCHANGES = re.compile(
    r"_?(Nccl.*|Collective(?!AssignGroup|InitializeCommunicator).*|DTensorAll.*|DTensorReduceScatter|CrossReplicaSum"
    r"|AllToAll|XlaAllReduce|XlaReduceScatter|(Host)?(Send|Recv)|Xla(Send|Recv).*|(In|Out)feed.*|CopyToMesh.*|Relayout.*)"
)
_WITHOUT_FORMULA = frozenset(
    {
        *("CTCLoss", "CTCLossV2", "CTCGreedyDecoder", "CTCBeamSearchDecoder", "SdcaOptimizer", "SdcaOptimizerV2"),
        *("AudioSpectrogram", "AudioMicrofrontend", "Mfcc", "RiscFft", "RiscReduce", "ScaleAndTranslate"),
        *("ScaleAndTranslateGrad", "ImageProjectiveTransformV2", "ImageProjectiveTransformV3", "IsotonicRegression"),
        *("SparseMatrixMatMul", "SparseMatrixSparseMatMul", "SparseMatrixSparseCholesky", "SparseMatrixOrderingAMD"),
        *(
            "_MklNativeSparseMatrixMatMul",
            "NearestNeighbors",
            "KMC2ChainInitialization",
            "KmeansPlusPlusInitialization",
        ),
        *("GenerateBoundingBoxProposals", "EditDistance", "Skipgram", "NegTrain", "MaxPoolV2", "MaxPoolGradV2"),
        *("MaxPoolGradGradV2", "BoostedTreesAggregateStats", "BoostedTreesSparseAggregateStats", "BoostedTreesPredict"),
        *("BoostedTreesCalculateBestFeatureSplit", "BoostedTreesCalculateBestFeatureSplitV2"),
        *("BoostedTreesSparseCalculateBestFeatureSplit", "BoostedTreesCalculateBestGainsPerFeature"),
        *("BoostedTreesTrainingPredict", "BoostedTreesMakeStatsSummary", "BoostedTreesMakeQuantileSummaries"),
        *("BoostedTreesExampleDebugOutputs", "__MklDummyConv2DWithBias", "__MklDummyConv2DBackpropFilterWithBias"),
        *("__MklDummyPadWithConv2D", "__MklDummyPadWithFusedConv2D"),
    }
)
"""ops of much arithmetic, or of arithmetic that depends on data, for which neither the estimator nor we have a count"""
_WITHOUT_ARITHMETIC = re.compile(
    r"(Ref|_)?(Enter|Exit|Merge|Switch|SwitchN|NextIteration|Identity|LoopCond|Arg|Retval|DeviceArg|DeviceRetval)"
    r"|.*(Queue|Table|Summary|Reader|Checkpoint|Barrier|Accumulator|Optional|Mutex|Rpc|String|Regex|Unicode|Vocab).*"
    r"|.*(Decode|Encode|Parse|Serialize|Assert|Print|TensorArray|TensorList|TensorMap|Session|Minibatch).*"
    r"|.*(Dataset|Iterator|MemoryCache|SeedGenerator|IterationCounter|ThreadPool|StatsAggregator).*"
    r"|(Ordered)?Map(Clear|IncompleteSize|Peek|Size|Stage|Unstage|UnstageNoKey)|(Un)?[Ss]tage.*"
    r"|Stack(V2|Push|PushV2|Pop|PopV2|Close|CloseV2)?|(Un)?[Bb]atch|Save.*|Restore.*|.*File.*|Debug.*Identity.*"
    r"|Placeholder.*|.*Const|.*VarHandles?Op|.*Variable(V2|sOp)?|Var?Is.*|Is.*Initialized|Destroy.*|Delete.*|Copy.*"
    r"|NoOp|ControlTrigger|Abort|Timestamp|Device.*|DummySeed.*|Mark.*|Fact|FakeParam|GetOptions|GetDeadline|SyncDevice"
    r"|Substr|ReduceJoin|UnsortedSegmentJoin|AsString|Fingerprint|.*Handle(Op|V2)?|Resource(Create|Initialized|Using)Op"
    r"|Shape.*|Size|Rank|VariableShape|Broadcast(Args|GradientArgs)|ConcatOffset|InvertPermutation|Range|Where"
    r"|.*(Reshape|Gather|GatherNd|Slice|SliceAssign|SliceUpdate|SliceGrad|SetDiag.*|DiagPart.*|Diag|DiagV2|DiagV3|BandPart)"
    r"|(Dynamic|Parallel).*(Stitch|Partition|Concat.*)|.*(ToDense|Bitcast|Transpose|Concat|ConcatV2|ConcatND|SplitND)"
    r"|DataFormat.*|ExtractImagePatches|ExtractVolumePatches|ExtractGlimpse.*|SpaceToBatch|BatchToSpace|Empty|OneHot"
    r"|MirrorPadGrad|.*Pad|Reverse.*|.*Copy|InplaceUpdate|Lmdb.*|RecordInput|.*Sharding|Risc(Bitcast|Shape|Squeeze)"
    r"|_(ArrayToList|ListToArray|ScopedAllocator.*|ParallelConcat.*)|Composite.*|Xla(ClusterOutput|ReplicaId|SetBound)"
    r"|XlaOptimizationBarrier|TPU.*|Get.*Tpu.*|Tpu.*|.*SparseFromTensorsMap|Add(Many)?SparseToTensorsMap"
)
"""op types that move, name, read or write tensors, and compute nothing with their numbers"""
WITHOUT_COST = frozenset(
    {
        *("NoOp", "Assert", "ControlTrigger", "Shape", "ShapeN", "Size", "Rank", "VariableShape", "TensorListLength"),
        *("TensorListElementShape", "TensorArraySize", "TensorArraySizeV2", "TensorArraySizeV3", "QueueSize"),
        *("QueueSizeV2", "LookupTableSize", "LookupTableSizeV2", "IsVariableInitialized", "VarIsInitializedOp"),
        *("TPUReplicateMetadata", "DeviceIndex", "TensorMapSize"),
    }
)
"""op types that take no time that depends on a shape: they look at a shape, a length or a truth value"""


@cache
def hidden_work(op_type: str) -> Unknown:
    """Why the work of ops of this type is in something that is not read; `NOT_SAID` for other types."""
    for types, reason in _HIDDEN.items():
        if op_type in types:
            return reason
    if _EXCHANGES.fullmatch(op_type):
        return Unknown.EXCHANGE
    is_on_tpu = _ON_TPU.fullmatch(op_type) and not _TPU_WITHOUT_WORK.fullmatch(op_type)
    return Unknown.TPU if is_on_tpu and op_type not in EXPANDED_CALLS else Unknown.NOT_SAID


_HIDDEN: Mapping[frozenset[str], Unknown] = {
    _FUNCTIONS: Unknown.FUNCTION,
    _PIPELINES: Unknown.PIPELINE,
    _MODULES: Unknown.MODULE,
    _CODE: Unknown.CODE,
    _WITHOUT_FORMULA: Unknown.ARITHMETIC,
}


@cache
def may_be_heavy(op_type: str) -> bool:
    """Whether an op of this type may do arithmetic: while its cost is unknown, a sum of operations is a lower bound."""
    if op_type in WITHOUT_COST:
        return False
    if hidden_work(op_type) or op_type in EXPANDED_CALLS or op_type not in registered_ops():
        return True
    if op_type in COUNTS:
        return COUNTS[op_type] is not light.nothing
    return not (op_type in VIEWS or _WITHOUT_ARITHMETIC.fullmatch(op_type))
