"""Who may call which operation of the API: the permission table, written by hand.

    name of the operation: (who may call it, the answer to somebody who may, and sends no body)

Who: as in `table.py`. An operation without a body mostly answers 422: its body was looked at, which is past all
refusals.
"""

from collections.abc import Mapping

API_TABLE: Mapping[str, tuple[str, int]] = {
    # this installation
    "me": ("known", 200),
    "version": ("known", 200),
    "methods": ("known", 200),
    "samples": ("known", 200),
    "devices": ("known", 200),
    # projects and members
    "list_projects": ("known", 200),
    "make_project": ("known", 422),
    "show_project": ("viewer", 200),
    "change_project": ("editor", 422),
    "delete_project": ("owner", 204),
    "list_members": ("viewer", 200),
    "set_member": ("owner", 422),
    "delete_member": ("owner", 204),
    "open_project": ("owner", 422),
    "list_runs_of_project": ("viewer", 200),
    # uploads and graphs
    "begin_upload": ("editor", 422),
    "show_upload": ("viewer", 200),
    "send_part": ("editor", 400),
    "delete_upload": ("editor", 204),
    "make_graph_of_upload": ("editor", 400),
    "list_graphs": ("viewer", 200),
    "upload_graph": ("editor", 400),
    "build_sample": ("editor", 422),
    "show_graph": ("viewer", 200),
    "change_graph": ("editor", 422),
    "delete_graph": ("editor", 204),
    "begin_graph": ("editor", 422),
    "read_graph_again": ("editor", 400),
    "events_of_graph": ("viewer", 200),
    "stream_of_graph": ("viewer", 200),
    "view_graph": ("viewer", 200),
    "list_ops": ("viewer", 200),
    # runs
    "list_runs": ("viewer", 200),
    "start_run": ("editor", 422),
    "show_run": ("viewer", 200),
    "change_run": ("editor", 422),
    "delete_run": ("editor", 204),
    "cancel_run": ("editor", 409),
    "events_of_run": ("viewer", 200),
    "stream_of_run": ("viewer", 200),
    "placement_of_run": ("viewer", 200),
    "report_of_run": ("viewer", 200),
    "page_of_run": ("viewer", 200),
    "file_of_run": ("viewer", 200),
    "evaluate_placement": ("viewer", 422),
    "timeline_of_placement": ("viewer", 422),
    "explanation_of_event": ("viewer", 200),
    "gains_of_run": ("viewer", 200),
    # comparisons and plans
    "list_comparisons": ("viewer", 200),
    "start_comparison": ("editor", 422),
    "show_comparison": ("viewer", 200),
    "change_comparison": ("editor", 422),
    "delete_comparison": ("editor", 204),
    "cancel_comparison": ("editor", 409),
    "events_of_comparison": ("viewer", 200),
    "stream_of_comparison": ("viewer", 200),
    "file_of_comparison": ("viewer", 200),
    "list_searches": ("viewer", 200),
    "start_search": ("editor", 422),
    "show_search": ("viewer", 200),
    "change_search": ("editor", 422),
    "delete_search": ("editor", 204),
    "cancel_search": ("editor", 409),
    "events_of_search": ("viewer", 200),
    "stream_of_search": ("viewer", 200),
    "report_of_search": ("viewer", 200),
    "open_replica": ("editor", 422),
    # policies
    "list_policies": ("known", 200),
    "upload_policy": ("known", 400),
    "train_policy": ("known", 422),
    "show_policy": ("viewer", 200),
    "change_policy": ("editor", 422),
    "delete_policy": ("editor", 204),
    "cancel_training": ("editor", 409),
    "publish_policy": ("owner", 422),
    "events_of_policy": ("viewer", 200),
    "stream_of_policy": ("viewer", 200),
    "file_of_policy": ("viewer", 200),
    # links and webhooks, which let something out
    "list_links_of_run": ("editor", 200),
    "list_links_of_comparison": ("editor", 200),
    "list_links_of_search": ("editor", 200),
    "list_links_of_graph": ("editor", 200),
    "share_run": ("editor", 422),
    "share_comparison": ("editor", 422),
    "share_search": ("editor", 422),
    "share_graph": ("editor", 422),
    "revoke_link": ("editor", 204),
    "list_hooks": ("editor", 200),
    "add_hook": ("editor", 422),
    "show_hook": ("editor", 200),
    "change_hook": ("editor", 422),
    "delete_hook": ("editor", 204),
    "renew_secret": ("editor", 200),
    "test_hook": ("editor", 202),
    "list_deliveries": ("editor", 200),
    "send_again": ("editor", 202),
    # measuring
    "list_measurements": ("viewer", 200),
    "start_measurement": ("editor", 422),
    "show_measurement": ("viewer", 200),
    "delete_measurement": ("editor", 204),
    "cancel_measurement": ("editor", 202),
    "report_of_measurement": ("viewer", 404),  # it has not ended
    "list_profiles": ("viewer", 200),
    "start_profile": ("editor", 422),
    "show_profile": ("viewer", 200),
    "cancel_profile": ("editor", 409),
    "file_of_profile": ("viewer", 200),
    "use_profile": ("editor", 202),
}

NEED_SCOPE_ADMIN = (
    *("list_links_of_run", "list_links_of_comparison", "list_links_of_search", "list_links_of_graph", "revoke_link"),
    *("share_run", "share_comparison", "share_search", "share_graph", "list_hooks", "add_hook", "show_hook"),
    *("change_hook", "delete_hook", "renew_secret", "test_hook", "list_deliveries", "send_again"),
)
"""operations for which a token needs the scope admin, whatever the role in the project"""

WITHOUT_ACCOUNTS_NONE = ("list_members", "set_member", "delete_member", "open_project")
"""operations that are not there without accounts"""

NO_OPERATION = ("api:api", "api:api-root", "api:openapi-json", "api:openapi-view")
"""names of addresses that anyone may read: the description of the API"""
