/**
 * The types of the server's answers, for the type checker. Nothing here runs.
 *
 * @typedef {object} StartedEvent
 * @property {"started"} type
 * @property {number} seq
 * @property {number} version
 * @property {string} method
 * @property {Record<string, unknown>} settings
 * @property {number} seed
 * @property {number} evaluations the budget
 * @property {number} groups
 * @property {number[]} [levels] the numbers of groups of the levels that it searches; an older version had none
 * @property {string[]} devices
 * @property {number} lower_bound_us
 * @property {string} engine_version
 * @property {string | null} [policy] the name on the card of the policy that it starts from
 *
 * @typedef {object} BaselineEvent
 * @property {"baseline"} type
 * @property {number} seq
 * @property {number} version
 * @property {string} method
 * @property {number | null} step_time_us its best feasible placement
 * @property {number | null} mean_step_time_us
 * @property {number} evaluations
 * @property {string} note why there is no placement, or empty
 * @property {number[] | null} [placement] [groups] its best feasible one, −1 for a group on several devices; an older version did not store it
 * @property {number[][]} [parts] of groups on several devices, as docs/formats.md describes them
 * @property {number[] | null} [peak_bytes] [devices] of that one; the same
 * @property {number | null} [wall_seconds] of all its evaluations; the same
 *
 * @typedef {object} EpisodeEvent
 * @property {"episode"} type
 * @property {number} seq
 * @property {number} version
 * @property {number} episode numbered from 1
 * @property {number} step_time_us
 * @property {boolean} feasible
 * @property {number | null} best_step_time_us best feasible so far, trivial placements included
 * @property {number} evaluations used so far
 * @property {number} elapsed_seconds
 * @property {number[]} placement [groups] device of each group, −1 for one on several
 * @property {number[][]} [parts] of groups on several devices, as docs/formats.md describes them
 * @property {number} [level_groups] the number of groups of the level at which it was found; an older version did not store it
 *
 * @typedef {object} UpdateEvent means over what the method learned from since the last one; null: it has no such number
 * @property {"update"} type
 * @property {number} seq
 * @property {number} version
 * @property {number} episode number of the last episode so far
 * @property {number} evaluations
 * @property {number} elapsed_seconds
 * @property {number | null} mean_return
 * @property {number | null} return_baseline
 * @property {number | null} memory_penalty
 * @property {number | null} entropy
 * @property {number | null} gradient_norm
 * @property {number | null} learning_rate
 *
 * @typedef {object} ProgressEvent
 * @property {"progress"} type
 * @property {number} seq
 * @property {number} version
 * @property {string} stage
 * @property {number} done
 * @property {number} total 0 if unknown
 *
 * @typedef {object} FinishedEvent
 * @property {"finished"} type
 * @property {number} seq
 * @property {number} version
 * @property {Report} report
 *
 * @typedef {object} Report
 * @property {string} method
 * @property {number | null} step_time_us
 * @property {boolean} feasible
 * @property {number[]} peak_bytes [devices]
 * @property {number} evaluations
 * @property {number} wall_seconds without the baselines
 * @property {string} [ended_by] why step times could not be measured any more; missing where nothing ended it so
 * @property {number} lower_bound_us
 * @property {string | null} [policy] the name on the card of the policy that it started from
 * @property {number[]} device_of_group −1 for a group on several
 * @property {number[][]} [parts] of groups on several devices, as docs/formats.md describes them
 * @property {Robustness} [robustness] of the answer; an older version did not compute it
 * @property {ErrorBand} [error_band] only on a cluster that was measured
 * @property {number} [devices_used] an older version did not write this and what follows
 * @property {number} [crossing_edges]
 * @property {Verdict} [verdict]
 * @property {string} [prefer] `fastest` or `simplest=1%`
 * @property {SimplestPlacement | null} [simplest] null: no placement fits
 * @property {Proof} [proof] missing where nothing is proven
 * @property {{ micro_batches: number, pipeline: string, contiguous: boolean, recompute?: string, note?: string }} [stream] only of a run for the
 *   throughput of a stream, as all that follows; its `step_time_us` is the period
 * @property {number} [period_us]
 * @property {number} [batch_time_us]
 * @property {number | null} [micro_batches_per_second]
 * @property {number} [samples_per_second] missing where the graph's file does not say of how many samples a step is
 * @property {number} [stages]
 *
 * @typedef {object} Proof that no placement is better, to 0.1 %
 * @property {"step" | "period" | "batch"} of
 * @property {number} bound_us
 * @property {number} gap
 * @property {string} sentence
 *
 * @typedef {object} Verdict with more fields, see docs/formats.md
 * @property {"split" | "one_device" | "infeasible"} kind
 * @property {string} sentence
 * @property {string} [trade_sentence] empty where nothing fits; an older version did not write it
 *
 * @typedef {object} SimplestFigures
 * @property {number} step_time_us
 * @property {number} devices_used
 * @property {number} crossing_edges
 * @property {number} tolerance
 * @property {boolean} within_error whether it may be no slower than the fastest, as far as the estimate says
 *
 * @typedef {SimplestFigures & { device_of_group: number[], parts: number[][] }} SimplestPlacement
 *
 * @typedef {object} Result of a run that has ended, with the figures of both placements
 * @property {number} step_time_us of the fastest
 * @property {number} devices_used
 * @property {number} crossing_edges
 * @property {Verdict} verdict
 * @property {string} prefer
 * @property {SimplestFigures} simplest
 * @property {object} [stream] only of a run for the throughput of a stream
 * @property {Proof} [proof] missing where nothing is proven
 *
 * @typedef {object} ErrorBand of a real step, from the calibration of the cluster
 * @property {number} low_us
 * @property {number} middle_us
 * @property {number} high_us
 * @property {string} machine
 * @property {string} date
 *
 * @typedef {object} Robustness null: not computed, for the reason in `note`
 * @property {number | null} mean_regret
 * @property {number | null} worst_regret
 * @property {number | null} best_share
 * @property {number} draws
 * @property {number} candidates
 * @property {number} seconds
 * @property {number} fastest_step_time_us
 * @property {string} note
 *
 * @typedef {StartedEvent | BaselineEvent | EpisodeEvent | UpdateEvent | ProgressEvent | FinishedEvent} RunEvent
 *
 * @typedef {"queued" | "running" | "done" | "failed" | "cancelled"} RunStatus
 *
 * @typedef {object} Device
 * @property {string} name such as `/device:GPU:0`
 * @property {string} kind such as `K80`
 * @property {string} class `GPU` or `CPU`
 * @property {number} memory_bytes
 * @property {number} [reserved_bytes] what the runtime keeps of it; none where it is missing
 *
 * @typedef {object} Run the content of `run.json`
 * @property {string} id
 * @property {RunStatus} status
 * @property {string} method
 * @property {Record<string, unknown>} settings
 * @property {number} evaluations the budget
 * @property {number} seed
 * @property {number | null} seconds the budget of wall time
 * @property {{ id: string | null, name: string, digest: string } | null} policy that it starts from; id: null once deleted
 * @property {object} [stream] only of a run for the throughput of a stream
 * @property {unknown} cluster
 * @property {Device[]} devices
 * @property {number | null} groups
 * @property {number} last_seq
 * @property {number} attempts
 * @property {string} error
 * @property {string | null} created_at
 * @property {string | null} started_at
 * @property {string | null} finished_at
 * @property {boolean} cancel_requested
 * @property {number} evaluations_used
 * @property {number | null} best_step_time_us
 * @property {Result | null} result null: not known, or of an older version
 *
 * @typedef {object} Group
 * @property {number} id its index
 * @property {string} name untrusted text
 * @property {string} [short_name] what people are shown of it, as `engine/graphs/short_names.py` finds it; an older version did not send it
 * @property {number} ops
 * @property {[string, number][]} types the most frequent op types
 * @property {Record<string, number>} time_us by device kind: of a graph the catalogue's, of a run those of its devices
 * @property {number} output_bytes
 * @property {number} persistent_bytes
 * @property {number} x
 * @property {number} y
 *
 * @typedef {object} GroupEdge
 * @property {number} source
 * @property {number} target
 * @property {number} bytes
 *
 * @typedef {object} GroupGraph the content of `graph.json` and `view.json`: the grouped graph, laid out
 * @property {Group[]} groups
 * @property {GroupEdge[]} edges
 * @property {number} width
 * @property {number} height
 * @property {number} across the least distance between neighbours in a row
 * @property {number} down the least distance between rows
 * @property {{ left: number, right: number, leads_up: boolean }[]} strips parts of the layers, in the order of the data
 *
 * @typedef {object} OpenScope what `scope.json` has beside the items as groups of a `GroupGraph`
 * @property {string} scope the scope whose items these are; empty: the whole group
 * @property {Record<string, string>} [short_scopes] the asked scope and those around it → what people are shown of them
 * @property {boolean} is_drawn false: too many for a drawing, so that there are no edges and no places
 * @property {number[]} ops of the scope
 * @property {number[]} item_of_op [ops of the scope]
 * @property {(string | null)[]} opens [items] the scope that opens an item; null: an op
 * @property {number[]} inputs [items] bytes from ops outside
 * @property {number[]} outputs [items] bytes to ops outside
 *
 * @typedef {GroupGraph & OpenScope} ScopeGraph the content of `scope.json`
 *
 * @typedef {object} BlockRow what is right in an opened block: a block, or an op
 * @property {number | null} block its number; null: an op
 * @property {number | null} op its index; null: a block
 * @property {string} name without the names of the blocks around it; untrusted text
 * @property {string} whole_name of an op its name in the file, of a block its path
 * @property {number} members of a fold the number of its equal members; 0: no fold
 * @property {number} first where its ops begin in the order of the blocks
 * @property {number} ops
 * @property {[string, number][]} types the op types that take longest, with their ops
 * @property {number} output_bytes
 * @property {number} persistent_bytes
 * @property {number} strip its part of the layers; every other one leads up
 * @property {number} x from the left of its strip; neighbours in a row are at least 1 apart
 * @property {number} y the same in a row
 *
 * @typedef {object} OpenBlock the content of `blocks/N`
 * @property {number} block
 * @property {string[]} path the names of the blocks around it, and its own
 * @property {boolean} is_drawn false: it has too many children
 * @property {number} strips
 * @property {BlockRow[]} children in the order of their ops
 *
 * @typedef {object} OpCosts the content of `costs.json`
 * @property {string[]} sources
 * @property {number[]} source [ops] an index of `sources`
 * @property {number[]} cpu_only ops that no GPU runs
 * @property {number[]} groups [ops]
 *
 * @typedef {object} EventsPage
 * @property {RunEvent[]} events
 * @property {RunStatus} status
 * @property {number} last_seq
 * @property {string} error
 * @property {number} [kept_events] of a thinned run: how many of its events are left
 *
 * @typedef {object} GraphStatus the status in a graph's stream, and the content of its `status.json`
 * @property {"queued" | "reading" | "ready" | "failed"} status
 * @property {string} stage
 * @property {number} done
 * @property {number} total
 * @property {string} error
 */

export {};
