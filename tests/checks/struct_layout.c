/* SPDX-License-Identifier: MIT */
/*
 * The layout of every public struct, pinned. A released struct may only grow
 * at its end: then its SIZE changes and lines are added, nothing else. What the
 * last release promised is pinned apart, in RELEASED_LAYOUT.
 *
 * The numbers hold where pointers and size_t have 64 bits and 64-bit integers
 * and doubles are aligned to 8 (LP64, LLP64). Elsewhere the test is skipped:
 * there the compiler's layout is the ABI.
 */
#include <assert.h>
#include <lbroute/ingest.h>
#include <lbroute/lbroute.h>
#include <stddef.h>
#include <stdint.h>

/** Exit code by which a test says that it was skipped. */
enum { SKIPPED = 77 };

#if UINTPTR_MAX == UINT64_MAX && SIZE_MAX == UINT64_MAX

enum { RESULT = 0 };

#define SIZE(type, bytes) static_assert(sizeof(type) == (bytes), #type)
#define PIN(type, field, offset)                                               \
    static_assert(offsetof(type, field) == (offset), #type "." #field)

/* Rows of RELEASED_LAYOUT. A struct that does not state its size cannot grow:
 * callers have arrays of it, or hand it over by its address alone. */
#define GROWING(type, bytes) static_assert(sizeof(type) >= (bytes), #type)
#define FIXED SIZE
#define FIELD PIN
#define CONSTANT(name, value) static_assert((name) == (value), #name)
#define COUNT(name, value) static_assert((name) >= (value), #name)
#ifdef RELEASED_LAYOUT
#include RELEASED_LAYOUT
#endif

SIZE(lbroute_allocator, 24);
PIN(lbroute_allocator, allocate, 0);
PIN(lbroute_allocator, release, 8);
PIN(lbroute_allocator, user, 16);

SIZE(lbroute_router_options, 176);
PIN(lbroute_router_options, size, 0);
PIN(lbroute_router_options, allocator, 8);
PIN(lbroute_router_options, seed, 32);
PIN(lbroute_router_options, digest_key, 40);
PIN(lbroute_router_options, ticket_ttl, 56);
PIN(lbroute_router_options, max_pools, 64);
PIN(lbroute_router_options, max_targets, 68);
PIN(lbroute_router_options, max_tickets, 72);
PIN(lbroute_router_options, max_sessions, 76);
PIN(lbroute_router_options, single_threaded, 80);
PIN(lbroute_router_options, reserved0, 84);
PIN(lbroute_router_options, header_prefix, 88);
PIN(lbroute_router_options, header_prefix_len, 96);
PIN(lbroute_router_options, max_scorers, 104);
PIN(lbroute_router_options, reserved1, 108);
PIN(lbroute_router_options, max_prices, 112);
PIN(lbroute_router_options, reserved2, 116);
PIN(lbroute_router_options, max_kv_blocks, 120);
PIN(lbroute_router_options, max_kv_sources, 124);
PIN(lbroute_router_options, max_waiting, 128);
PIN(lbroute_router_options, reserved3, 132);
PIN(lbroute_router_options, max_waiting_bytes, 136);
PIN(lbroute_router_options, origin, 144);
PIN(lbroute_router_options, max_delta_bytes, 152);
PIN(lbroute_router_options, peer_ttl, 160);
PIN(lbroute_router_options, max_peers, 168);
PIN(lbroute_router_options, reserved4, 172);

SIZE(lbroute_pool_options, 40);
PIN(lbroute_pool_options, size, 0);
PIN(lbroute_pool_options, name, 8);
PIN(lbroute_pool_options, name_len, 16);
PIN(lbroute_pool_options, strategy, 24);
PIN(lbroute_pool_options, strategy_len, 32);

SIZE(lbroute_pool_info, 280);
PIN(lbroute_pool_info, size, 0);
PIN(lbroute_pool_info, strategy, 8);
PIN(lbroute_pool_info, targets, 16);
PIN(lbroute_pool_info, name_len, 20);
PIN(lbroute_pool_info, name, 24);

SIZE(lbroute_param_info, 48);
PIN(lbroute_param_info, size, 0);
PIN(lbroute_param_info, name, 8);
PIN(lbroute_param_info, text, 16);
PIN(lbroute_param_info, default_value, 24);
PIN(lbroute_param_info, minimum, 32);
PIN(lbroute_param_info, maximum, 40);

SIZE(lbroute_target_options, 112);
PIN(lbroute_target_options, size, 0);
PIN(lbroute_target_options, name, 8);
PIN(lbroute_target_options, name_len, 16);
PIN(lbroute_target_options, pool, 24);
PIN(lbroute_target_options, weight, 32);
PIN(lbroute_target_options, max_concurrency, 40);
PIN(lbroute_target_options, reserved0, 44);
PIN(lbroute_target_options, max_input_tokens, 48);
PIN(lbroute_target_options, tier, 56);
PIN(lbroute_target_options, tier_len, 64);
PIN(lbroute_target_options, model, 72);
PIN(lbroute_target_options, model_len, 80);
PIN(lbroute_target_options, user, 88);
PIN(lbroute_target_options, price_key, 96);
PIN(lbroute_target_options, price_key_len, 104);

SIZE(lbroute_target_info, 1072);
PIN(lbroute_target_info, size, 0);
PIN(lbroute_target_info, pool, 8);
PIN(lbroute_target_info, weight, 16);
PIN(lbroute_target_info, max_input_tokens, 24);
PIN(lbroute_target_info, max_concurrency, 32);
PIN(lbroute_target_info, draining, 36);
PIN(lbroute_target_info, user, 40);
PIN(lbroute_target_info, name, 48);
PIN(lbroute_target_info, tier, 304);
PIN(lbroute_target_info, model, 560);
PIN(lbroute_target_info, price_key, 816);

SIZE(lbroute_request, 280);
PIN(lbroute_request, size, 0);
PIN(lbroute_request, pool, 8);
PIN(lbroute_request, model, 16);
PIN(lbroute_request, model_len, 24);
PIN(lbroute_request, tier, 32);
PIN(lbroute_request, tier_len, 40);
PIN(lbroute_request, session, 48);
PIN(lbroute_request, session_len, 56);
PIN(lbroute_request, client, 64);
PIN(lbroute_request, client_len, 72);
PIN(lbroute_request, conversation, 80);
PIN(lbroute_request, conversation_len, 88);
PIN(lbroute_request, prompt, 96);
PIN(lbroute_request, prompt_len, 104);
PIN(lbroute_request, input_tokens, 112);
PIN(lbroute_request, exclude, 120);
PIN(lbroute_request, exclude_len, 128);
PIN(lbroute_request, tokens, 136);
PIN(lbroute_request, tokens_len, 144);
PIN(lbroute_request, blocks, 152);
PIN(lbroute_request, blocks_len, 160);
PIN(lbroute_request, adapter, 168);
PIN(lbroute_request, adapter_len, 176);
PIN(lbroute_request, salt, 184);
PIN(lbroute_request, salt_len, 192);
PIN(lbroute_request, lookup_targets, 200);
PIN(lbroute_request, lookup_tokens, 208);
PIN(lbroute_request, lookup_len, 216);
PIN(lbroute_request, output_tokens, 224);
PIN(lbroute_request, cached_tokens, 232);
PIN(lbroute_request, mm_items, 240);
PIN(lbroute_request, mm_item_count, 248);
PIN(lbroute_request, priority, 256);
PIN(lbroute_request, reserved0, 260);
PIN(lbroute_request, deadline, 264);
PIN(lbroute_request, tag, 272);

SIZE(lbroute_decision, 800);
PIN(lbroute_decision, size, 0);
PIN(lbroute_decision, target, 8);
PIN(lbroute_decision, ticket, 16);
PIN(lbroute_decision, pool, 24);
PIN(lbroute_decision, user, 32);
PIN(lbroute_decision, rule, 40);
PIN(lbroute_decision, reason, 44);
PIN(lbroute_decision, bench_ignored, 48);
PIN(lbroute_decision, candidates, 52);
PIN(lbroute_decision, eligible, 56);
PIN(lbroute_decision, in_flight, 60);
PIN(lbroute_decision, max_concurrency, 64);
PIN(lbroute_decision, reserved0, 68);
PIN(lbroute_decision, weight, 72);
PIN(lbroute_decision, load, 80);
PIN(lbroute_decision, score, 88);
PIN(lbroute_decision, sticky_digest, 96);
PIN(lbroute_decision, wait_ns, 104);
PIN(lbroute_decision, prefix_matched, 112);
PIN(lbroute_decision, prefix_total, 120);
PIN(lbroute_decision, reasons, 128);
PIN(lbroute_decision, target_name_len, 192);
PIN(lbroute_decision, pool_name_len, 196);
PIN(lbroute_decision, target_name, 200);
PIN(lbroute_decision, pool_name, 456);
PIN(lbroute_decision, expected_cost_pusd, 712);
PIN(lbroute_decision, expected_ttft_ns, 720);
PIN(lbroute_decision, expected_total_ns, 728);
PIN(lbroute_decision, kv_blocks, 736);
PIN(lbroute_decision, kv_state, 768);
PIN(lbroute_decision, reserved1, 772);
PIN(lbroute_decision, place, 776);
PIN(lbroute_decision, tag, 784);
PIN(lbroute_decision, queue_ahead, 792);
PIN(lbroute_decision, reserved2, 796);

SIZE(lbroute_candidate, 128);
PIN(lbroute_candidate, size, 0);
PIN(lbroute_candidate, target, 8);
PIN(lbroute_candidate, verdict, 16);
PIN(lbroute_candidate, in_window, 20);
PIN(lbroute_candidate, in_flight, 24);
PIN(lbroute_candidate, max_concurrency, 28);
PIN(lbroute_candidate, weight, 32);
PIN(lbroute_candidate, load, 40);
PIN(lbroute_candidate, relative_load, 48);
PIN(lbroute_candidate, score, 56);
PIN(lbroute_candidate, expected_cost_pusd, 64);
PIN(lbroute_candidate, expected_ttft_ns, 72);
PIN(lbroute_candidate, expected_total_ns, 80);
PIN(lbroute_candidate, kv_blocks, 88);
PIN(lbroute_candidate, kv_state, 120);
PIN(lbroute_candidate, reserved0, 124);

SIZE(lbroute_event, 64);
PIN(lbroute_event, size, 0);
PIN(lbroute_event, ticket, 8);
PIN(lbroute_event, kind, 16);
PIN(lbroute_event, reserved0, 20);
PIN(lbroute_event, latency_ns, 24);
PIN(lbroute_event, input_tokens, 32);
PIN(lbroute_event, cached_tokens, 40);
PIN(lbroute_event, output_tokens, 48);
PIN(lbroute_event, retry_after_ns, 56);

SIZE(lbroute_score_request, 48);
PIN(lbroute_score_request, size, 0);
PIN(lbroute_score_request, scorer, 8);
PIN(lbroute_score_request, pool, 16);
PIN(lbroute_score_request, request, 24);
PIN(lbroute_score_request, now, 32);
PIN(lbroute_score_request, explaining, 40);
PIN(lbroute_score_request, reserved0, 44);

SIZE(lbroute_scorer_options, 64);
PIN(lbroute_scorer_options, size, 0);
PIN(lbroute_scorer_options, name, 8);
PIN(lbroute_scorer_options, name_len, 16);
PIN(lbroute_scorer_options, kind, 24);
PIN(lbroute_scorer_options, reserved0, 28);
PIN(lbroute_scorer_options, weight, 32);
PIN(lbroute_scorer_options, score, 40);
PIN(lbroute_scorer_options, destroy, 48);
PIN(lbroute_scorer_options, user, 56);

SIZE(lbroute_scorer_stats, 312);
PIN(lbroute_scorer_stats, size, 0);
PIN(lbroute_scorer_stats, pool, 8);
PIN(lbroute_scorer_stats, kind, 16);
PIN(lbroute_scorer_stats, name_len, 20);
PIN(lbroute_scorer_stats, weight, 24);
PIN(lbroute_scorer_stats, calls, 32);
PIN(lbroute_scorer_stats, errors, 40);
PIN(lbroute_scorer_stats, not_finite, 48);
PIN(lbroute_scorer_stats, name, 56);

SIZE(lbroute_stats, 440);
PIN(lbroute_stats, size, 0);
PIN(lbroute_stats, picks, 8);
PIN(lbroute_stats, rejections, 16);
PIN(lbroute_stats, settled, 144);
PIN(lbroute_stats, expired, 272);
PIN(lbroute_stats, open_tickets, 280);
PIN(lbroute_stats, orphan_tickets, 288);
PIN(lbroute_stats, sessions, 296);
PIN(lbroute_stats, pools, 304);
PIN(lbroute_stats, targets, 312);
PIN(lbroute_stats, memory_bytes, 320);
PIN(lbroute_stats, allocations, 328);
PIN(lbroute_stats, prices, 336);
PIN(lbroute_stats, kv_blocks, 344);
PIN(lbroute_stats, kv_contents, 352);
PIN(lbroute_stats, kv_sources, 360);
PIN(lbroute_stats, kv_evicted, 368);
PIN(lbroute_stats, waiting, 376);
PIN(lbroute_stats, waiting_bytes, 384);
PIN(lbroute_stats, places, 392);
PIN(lbroute_stats, queued, 400);
PIN(lbroute_stats, queue_served, 408);
PIN(lbroute_stats, queue_timeouts, 416);
PIN(lbroute_stats, queue_cancelled, 424);
PIN(lbroute_stats, queue_refused, 432);

SIZE(lbroute_pool_stats, 104);
PIN(lbroute_pool_stats, size, 0);
PIN(lbroute_pool_stats, mode, 8);
PIN(lbroute_pool_stats, busy, 12);
PIN(lbroute_pool_stats, mode_changes, 16);
PIN(lbroute_pool_stats, arrivals, 24);
PIN(lbroute_pool_stats, in_flight, 32);
PIN(lbroute_pool_stats, limit, 40);
PIN(lbroute_pool_stats, waiting, 48);
PIN(lbroute_pool_stats, slot_gap_ns, 56);
PIN(lbroute_pool_stats, queued, 64);
PIN(lbroute_pool_stats, queue_served, 72);
PIN(lbroute_pool_stats, queue_timeouts, 80);
PIN(lbroute_pool_stats, queue_cancelled, 88);
PIN(lbroute_pool_stats, queue_refused, 96);

SIZE(lbroute_target_stats, 464);
PIN(lbroute_target_stats, size, 0);
PIN(lbroute_target_stats, picks, 8);
PIN(lbroute_target_stats, settled, 16);
PIN(lbroute_target_stats, expired, 144);
PIN(lbroute_target_stats, in_flight, 152);
PIN(lbroute_target_stats, failures_in_row, 156);
PIN(lbroute_target_stats, benches_in_row, 160);
PIN(lbroute_target_stats, benched, 164);
PIN(lbroute_target_stats, on_trial, 168);
PIN(lbroute_target_stats, reserved0, 172);
PIN(lbroute_target_stats, bench_left_ns, 176);
PIN(lbroute_target_stats, weight, 184);
PIN(lbroute_target_stats, load, 192);
PIN(lbroute_target_stats, others, 200);
PIN(lbroute_target_stats, gauges, 208);
PIN(lbroute_target_stats, gauge_age_ns, 272);
PIN(lbroute_target_stats, prefix_bytes, 336);
PIN(lbroute_target_stats, prefix_blocks, 344);
PIN(lbroute_target_stats, prefix_evicted, 352);
PIN(lbroute_target_stats, occupancy, 360);
PIN(lbroute_target_stats, occupancy_age_ns, 368);
PIN(lbroute_target_stats, cache_available, 376);
PIN(lbroute_target_stats, cache_stale, 380);
PIN(lbroute_target_stats, max_adapters, 384);
PIN(lbroute_target_stats, adapters, 388);
PIN(lbroute_target_stats, input_tokens, 392);
PIN(lbroute_target_stats, cached_tokens, 400);
PIN(lbroute_target_stats, output_tokens, 408);
PIN(lbroute_target_stats, pending_tokens, 416);
PIN(lbroute_target_stats, pending_requests, 424);
PIN(lbroute_target_stats, kv_state, 428);
PIN(lbroute_target_stats, kv_blocks, 432);
PIN(lbroute_target_stats, kv_age_ns, 440);
PIN(lbroute_target_stats, retry_left_ns, 448);
PIN(lbroute_target_stats, limit, 456);
PIN(lbroute_target_stats, reserved1, 460);

SIZE(lbroute_latency_model, 88);
PIN(lbroute_latency_model, size, 0);
PIN(lbroute_latency_model, samples, 8);
PIN(lbroute_latency_model, known, 16);
PIN(lbroute_latency_model, reserved0, 20);
PIN(lbroute_latency_model, base_ns, 24);
PIN(lbroute_latency_model, per_queue_ns, 32);
PIN(lbroute_latency_model, per_input_ns, 40);
PIN(lbroute_latency_model, residual, 48);
PIN(lbroute_latency_model, ewma_ns, 56);
PIN(lbroute_latency_model, age_ns, 64);
PIN(lbroute_latency_model, queue, 72);
PIN(lbroute_latency_model, least_ns, 80);

SIZE(lbroute_work_model, 224);
PIN(lbroute_work_model, size, 0);
PIN(lbroute_work_model, samples, 8);
PIN(lbroute_work_model, known, 24);
PIN(lbroute_work_model, base_ns, 32);
PIN(lbroute_work_model, per_running_ns, 48);
PIN(lbroute_work_model, per_kilotoken_ns, 64);
PIN(lbroute_work_model, least_ns, 80);
PIN(lbroute_work_model, slowness, 96);
PIN(lbroute_work_model, measured, 112);
PIN(lbroute_work_model, evidence, 128);
PIN(lbroute_work_model, spread, 144);
PIN(lbroute_work_model, output_tokens, 160);
PIN(lbroute_work_model, input_kilotokens, 168);
PIN(lbroute_work_model, gone, 176);
PIN(lbroute_work_model, eviction, 184);
PIN(lbroute_work_model, sharing_ns, 192);
PIN(lbroute_work_model, pending_kilotokens, 200);
PIN(lbroute_work_model, running, 208);
PIN(lbroute_work_model, late_ns, 216);

SIZE(lbroute_client_share, 48);
PIN(lbroute_client_share, size, 0);
PIN(lbroute_client_share, client, 8);
PIN(lbroute_client_share, blocks, 16);
PIN(lbroute_client_share, share, 24);
PIN(lbroute_client_share, evicted, 32);
PIN(lbroute_client_share, idle_ns, 40);

SIZE(lbroute_share, 56);
PIN(lbroute_share, size, 0);
PIN(lbroute_share, target, 8);
PIN(lbroute_share, requests, 16);
PIN(lbroute_share, configured, 24);
PIN(lbroute_share, dispatched, 32);
PIN(lbroute_share, drift, 40);
PIN(lbroute_share, flagged, 48);
PIN(lbroute_share, causes, 52);

SIZE(lbroute_diag, 176);
PIN(lbroute_diag, size, 0);
PIN(lbroute_diag, accepted, 8);
PIN(lbroute_diag, skipped, 16);
PIN(lbroute_diag, broken, 24);
PIN(lbroute_diag, offset, 32);
PIN(lbroute_diag, line, 40);
PIN(lbroute_diag, reasons, 48);

SIZE(lbroute_price_tier, 32);
PIN(lbroute_price_tier, above_tokens, 0);
PIN(lbroute_price_tier, input, 8);
PIN(lbroute_price_tier, output, 16);
PIN(lbroute_price_tier, cached_input, 24);

SIZE(lbroute_price, 168);
PIN(lbroute_price, size, 0);
PIN(lbroute_price, input, 8);
PIN(lbroute_price, output, 16);
PIN(lbroute_price, cached_input, 24);
PIN(lbroute_price, tier_count, 32);
PIN(lbroute_price, reserved0, 36);
PIN(lbroute_price, tiers, 40);

SIZE(lbroute_kv_event, 136);
PIN(lbroute_kv_event, size, 0);
PIN(lbroute_kv_event, kind, 8);
PIN(lbroute_kv_event, medium, 12);
PIN(lbroute_kv_event, hashes, 16);
PIN(lbroute_kv_event, hash_count, 24);
PIN(lbroute_kv_event, parent, 32);
PIN(lbroute_kv_event, has_parent, 40);
PIN(lbroute_kv_event, group, 44);
PIN(lbroute_kv_event, tokens, 48);
PIN(lbroute_kv_event, token_count, 56);
PIN(lbroute_kv_event, block_size, 64);
PIN(lbroute_kv_event, reserved0, 68);
PIN(lbroute_kv_event, blocks, 72);
PIN(lbroute_kv_event, block_count, 80);
PIN(lbroute_kv_event, adapter, 88);
PIN(lbroute_kv_event, adapter_len, 96);
PIN(lbroute_kv_event, salt, 104);
PIN(lbroute_kv_event, salt_len, 112);
PIN(lbroute_kv_event, extra_keys, 120);
PIN(lbroute_kv_event, extra_key_count, 128);

SIZE(lbroute_kv_batch, 48);
PIN(lbroute_kv_batch, size, 0);
PIN(lbroute_kv_batch, seq, 8);
PIN(lbroute_kv_batch, timestamp, 16);
PIN(lbroute_kv_batch, events, 24);
PIN(lbroute_kv_batch, event_count, 32);
PIN(lbroute_kv_batch, more, 40);
PIN(lbroute_kv_batch, continued, 44);

SIZE(lbroute_kv_result, 184);
PIN(lbroute_kv_result, size, 0);
PIN(lbroute_kv_result, outcome, 8);
PIN(lbroute_kv_result, state, 12);
PIN(lbroute_kv_result, missing, 16);
PIN(lbroute_kv_result, first_missing, 24);
PIN(lbroute_kv_result, last_missing, 32);
PIN(lbroute_kv_result, stored, 40);
PIN(lbroute_kv_result, removed, 48);
PIN(lbroute_kv_result, reasons, 56);

SIZE(lbroute_kv_source_stats, 296);
PIN(lbroute_kv_source_stats, size, 0);
PIN(lbroute_kv_source_stats, state, 8);
PIN(lbroute_kv_source_stats, block_size, 12);
PIN(lbroute_kv_source_stats, age_ns, 16);
PIN(lbroute_kv_source_stats, next_seq, 24);
PIN(lbroute_kv_source_stats, missing, 32);
PIN(lbroute_kv_source_stats, first_missing, 40);
PIN(lbroute_kv_source_stats, last_missing, 48);
PIN(lbroute_kv_source_stats, blocks, 56);
PIN(lbroute_kv_source_stats, waiting, 88);
PIN(lbroute_kv_source_stats, aside, 96);
PIN(lbroute_kv_source_stats, batches, 104);
PIN(lbroute_kv_source_stats, duplicates, 112);
PIN(lbroute_kv_source_stats, gaps, 120);
PIN(lbroute_kv_source_stats, restarts, 128);
PIN(lbroute_kv_source_stats, clears, 136);
PIN(lbroute_kv_source_stats, stored, 144);
PIN(lbroute_kv_source_stats, removed, 152);
PIN(lbroute_kv_source_stats, evicted, 160);
PIN(lbroute_kv_source_stats, reasons, 168);

SIZE(lbroute_mm_item, 32);
PIN(lbroute_mm_item, id, 0);
PIN(lbroute_mm_item, id_len, 8);
PIN(lbroute_mm_item, begin, 16);
PIN(lbroute_mm_item, count, 24);

SIZE(lbroute_restore_result, 112);
PIN(lbroute_restore_result, size, 0);
PIN(lbroute_restore_result, targets, 8);
PIN(lbroute_restore_result, targets_unknown, 12);
PIN(lbroute_restore_result, targets_kept, 16);
PIN(lbroute_restore_result, sections_skipped, 20);
PIN(lbroute_restore_result, same_key, 24);
PIN(lbroute_restore_result, reserved0, 28);
PIN(lbroute_restore_result, prefix_bytes, 32);
PIN(lbroute_restore_result, prefix_bytes_skipped, 40);
PIN(lbroute_restore_result, sessions, 48);
PIN(lbroute_restore_result, sessions_skipped, 56);
PIN(lbroute_restore_result, kv_sources, 64);
PIN(lbroute_restore_result, kv_sources_skipped, 72);
PIN(lbroute_restore_result, kv_blocks, 80);
PIN(lbroute_restore_result, kv_blocks_skipped, 88);
PIN(lbroute_restore_result, prices, 96);
PIN(lbroute_restore_result, prices_skipped, 104);

SIZE(lbroute_delta_result, 88);
PIN(lbroute_delta_result, size, 0);
PIN(lbroute_delta_result, origin, 8);
PIN(lbroute_delta_result, sequence, 16);
PIN(lbroute_delta_result, missing, 24);
PIN(lbroute_delta_result, own, 28);
PIN(lbroute_delta_result, repeated, 32);
PIN(lbroute_delta_result, overtaken, 36);
PIN(lbroute_delta_result, same_key, 40);
PIN(lbroute_delta_result, sections_skipped, 44);
PIN(lbroute_delta_result, targets, 48);
PIN(lbroute_delta_result, targets_unknown, 52);
PIN(lbroute_delta_result, prompts, 56);
PIN(lbroute_delta_result, prompts_skipped, 64);
PIN(lbroute_delta_result, sessions, 72);
PIN(lbroute_delta_result, sessions_skipped, 80);

SIZE(lbroute_delta_stats, 64);
PIN(lbroute_delta_stats, size, 0);
PIN(lbroute_delta_stats, origin, 8);
PIN(lbroute_delta_stats, exported, 16);
PIN(lbroute_delta_stats, pending, 24);
PIN(lbroute_delta_stats, dropped, 32);
PIN(lbroute_delta_stats, applied, 40);
PIN(lbroute_delta_stats, repeated, 48);
PIN(lbroute_delta_stats, peers, 56);
PIN(lbroute_delta_stats, reserved0, 60);

#else

enum { RESULT = SKIPPED };

#endif

int main(void)
{
    return RESULT;
}
