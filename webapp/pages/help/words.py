"""The words that a newcomer does not know, each explained once: for the tips of all pages and for the help page."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the pages."""

    label: str
    text: str
    """what it means, in one to three sentences"""


GRAPH, RUN, STEP, COMPARISON, POLICY = SECTIONS = (
    "The graph and its devices",
    "A run",
    "Timeline of one step",
    "A comparison",
    "A policy",
)

WORDS: Mapping[str, Mapping[str, Word]] = {
    GRAPH: {
        "op": Word("Op", "One operation of the graph, such as a convolution or an addition."),
        "group": Word(
            "Group",
            "Ops that move together. A large graph is merged into groups of several levels, from some 32 to each op by "
            "itself; the pages show about 128. A search may split such a group over devices, other methods keep it "
            "whole. Another number, asked for when you upload the graph, fixes one level.",
        ),
        "outputs": Word(
            "Outputs and variables",
            "The bytes of everything that all ops of one step make, and of the weights and optimiser slots that stay "
            "from step to step. Outputs are freed once nobody needs them, so a device needs less than their sum.",
        ),
        "flops": Word("FLOPs per step", "Floating-point operations in one step; 2.2 T are 2.2 × 10¹²."),
        "cost_source": Word(
            "Where op times come from",
            "Estimated from the op's shapes by TensorFlow's cost model or ours, measured on a device, or given in the "
            "file. A simulated step time is as good as these.",
        ),
        "cluster": Word(
            "Devices",
            "The devices on which the graph shall run. They are modelled: you need none of them here. Give rows of "
            "them, or the same as text: 2xA100:80GiB+cpu@nvlink is two A100 with 80 GiB each and a CPU, linked by "
            "NVLink.",
        ),
        "contention": Word(
            "Links",
            "How transfers share the links. Bus: each device sends one transfer after the other. Pair: each pair of "
            "devices has a link of its own. None: transfers do not wait for each other. Sender: a device computes "
            "nothing while it sends, as TensorFlow's processes on CPUs do.",
        ),
        "memory_model": Word(
            "Memory model",
            "What counts as a device's memory. Full: weights, fed inputs, outputs until their last use, copies "
            "received from other devices, and temporaries. Outputs: the simpler model of the Placeto paper.",
        ),
    },
    RUN: {
        "constraints": Word(
            "Constraints",
            "Rules that every placement of a run keeps: ops that share a device (together), ops of which no two parts "
            "share one (apart), ops that stay off a device (off). A graph's file may have rules of its own; they count "
            "too.",
        ),
        "placement": Word(
            "Placement", "It says on which device each group, or each part of one, runs. It is the answer of a run."
        ),
        "step_time": Word(
            "Step time",
            "How long one execution of the placed graph takes; for a training graph, one training step. It is "
            "simulated from the times of the ops and the speed of the links, unless the page says measured.",
        ),
        "objective": Word(
            "Objective",
            "What a run makes small: the time of one step, or the time that a micro-batch takes in a stream of them, "
            "where each device works on another one. A placement that is best for one may be bad for the other.",
        ),
        "micro_batch": Word(
            "Micro-batch",
            "One step of the graph in a stream. A batch has several: the pipeline fills, runs steadily, and drains; "
            "ops of the optimizer run once, after the last one.",
        ),
        "proven": Word(
            "Proven optimal",
            "A bound shows that no placement is better by more than 0.1 %. In a stream it may be the period alone: "
            "what fill and drain add to a batch has no bound.",
        ),
        "in_flight": Word(
            "In flight",
            "A micro-batch is in flight on a device from the start of its first block there to the end of its last. "
            "The device holds what the rest of it needs, beside the persistent bytes, which it holds always.",
        ),
        "pipeline": Word(
            "Pipeline",
            "The order in which devices take the micro-batches of a batch, by the published schedules of GPipe, "
            "PipeDream (1f1b) and Megatron-LM (interleaved). A graph without a backward pass has inference alone.",
        ),
        "plan": Word(
            "Plan",
            "Replicas of a model, each on devices of its own with its share of a batch and its placement. Replicas add "
            "up their gradients once a batch; a replica on several devices is a pipeline of micro-batches.",
        ),
        "second_reading": Word(
            "Second reading",
            "The same step read at another number of samples. Times and bytes are then linear in the samples, op by "
            "op, so micro-batches may have any size; with one reading they have its size.",
        ),
        "period": Word(
            "Period",
            "The time of a micro-batch in the steady state: the work of the busiest device or link in one of them. A "
            "search looks for a short one; of the good placements the one with the shortest batch is the answer.",
        ),
        "evaluation": Word(
            "Evaluation",
            "One placement whose step is simulated. Every method has the same budget of evaluations, so they can be "
            "compared fairly.",
        ),
        "episode": Word(
            "Episode",
            "One try of a method, with the placement that it reports. A try may take several evaluations, so there are "
            "fewer episodes than evaluations. The dashed lines are baselines: simple placements to compare with.",
        ),
        "baseline": Word(
            "Baseline",
            "A simple placement to compare with, such as all ops on one device, or a random device for each group. "
            "Baselines are not part of the budget.",
        ),
        "lower_bound": Word(
            "Lower bound",
            "A step time that no placement can beat: the longest chain of ops, and all work shared evenly, take at "
            "least this long. No placement need reach it.",
        ),
        "simplest": Word(
            "Simplest placement",
            "The placement with the fewest devices, then the fewest edges between devices, that is almost as fast as "
            "the fastest one: 1 % slower at most, unless you allow more. Each edge between devices is a transfer to "
            "keep alive. A run finds both; this costs no evaluations.",
        ),
        "verdict": Word(
            "Verdict",
            "Whether splitting the graph over devices pays. Simulated gains err: by how much is measured for a machine "
            "that was calibrated (docs/results/fidelity.md). A gain that may be none counts as none; the range holds "
            "nine of ten measured gains. Times that a file gives count as exact.",
        ),
        "robustness": Word(
            "Robustness",
            "Costs are estimates. After the run its best placement and up to nine other good ones that it found are "
            "simulated 32 times with other costs: each type of op on each kind of device, and each speed of link, is "
            "up to 30 % faster or slower. It says how much slower the best placement is than the fastest of them. This "
            "costs no evaluations.",
        ),
        "error_band": Word(
            "Error band",
            "Step times are simulated. When the machine was calibrated, placements of two graphs were also run on it. "
            "The band is the simulated step time times the range of their measured over simulated step times.",
        ),
        "seed": Word("Seed", "Where random choices begin. The same seed, graph and settings give the same answer."),
        "method": Word("Method", "The way in which placements are found. Auto is a good first choice."),
        "preset": Word(
            "Preset",
            "A set of settings under one name. Fast: ours, a good placement in a fraction of the time. Paper: as "
            "published, many times slower.",
        ),
        "busy": Word(
            "Runs ops, share of the step, peak memory",
            "How long a device runs ops in one step of the shown placement, which part of the step that is, and the "
            "most memory that it holds at any moment. “Busy” in the verdict also counts the time to launch ops.",
        ),
    },
    STEP: {
        "timeline": Word(
            "Timeline",
            "One line for each device and each link, with a bar for each op and transfer. A gap means that the device "
            "waits: for an input, for a link, or for its turn.",
        ),
        "critical_chain": Word(
            "Critical chain",
            "The chain of ops, transfers and waits that ends with the step; its times add up to the step time. Only a "
            "change on it makes the step faster.",
        ),
        "slack": Word(
            "Slack",
            "How much later an op could end without a slower step. On the critical chain it is 0. An op that holds up "
            "the chain, such as one that it waits behind in a queue, has none either.",
        ),
        "peak": Word(
            "Memory at the peak",
            "What a device holds at the moment when it holds most: weights, optimiser slots, fed inputs, outputs still "
            "needed, copies from other devices, temporaries.",
        ),
        "gain": Word("Gain of a move", "How much faster or slower the step becomes if one group moves."),
    },
    COMPARISON: {
        "seeds": Word("Seeds", "How many times each method runs, with other random choices each time."),
        "by_itself": Word(
            "By itself",
            "The mean of the best placements that the method found on its own. A run's answer may be one device alone, "
            "which every run tries first.",
        ),
        "to_best": Word(
            "Evaluations to 1 %",
            "The mean number of evaluations after which a run was within 1 % of its final best.",
        ),
    },
    POLICY: {
        "policy": Word(
            "Policy",
            "A trained network that places graphs it has not seen. Placeto and Auto can start from one.",
        ),
        "zero_shot": Word("Zero-shot", "Only the first proposal of a trained policy, which takes one evaluation."),
        "gap": Word(
            "Gap",
            "How much slower (+) or faster (−) the policy's first proposal is than a search with the given budget, on "
            "graphs held out of its training.",
        ),
        "held_out": Word(
            "Held out",
            "Graphs on which a policy is not trained. They show how well it does on new graphs.",
        ),
    },
}
"""section → name in templates → word"""


def word(name: str) -> Word:
    """The word of that name. Raises KeyError."""
    return next(words[name] for words in WORDS.values() if name in words)
