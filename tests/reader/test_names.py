"""What the name of a tool says: of the same object, whether it reports a deed or is the answer."""

import pytest

from accord.reader import read

ACTING = """
    API-patch-block-children API-post-page acknowledge_alert activate_scene add-tasks
    addToQueue addTracksToPlaylist add_comment_to_pending_review add_memory add_observations
    add_slide add_table agent_spawn agent_stop alarm_set app_install app_launch append_file
    apply_migration apply_patch approve_request approve_token archive_channel
    assign_copilot_to_issue authenticate ban_user batch_delete_emails board_create book_flight
    bookmark_tweet boot_simulator branch_delete browser_click browser_close browser_drag
    browser_file_upload browser_fill_form browser_handle_dialog browser_hover browser_install
    browser_navigate browser_navigate_back browser_press_key browser_resize
    browser_select_option browser_type browser_wait_for bucket_create build_image build_trigger
    button_click buy_stock cache_clear cache_flush call_make call_service camera_move
    cancel_meeting cancel_order cancel_workflow_run car_unlock card_archive card_move
    cart_add_item cart_checkout cell_write channel_archive channel_create chat_postMessage
    click_element close_page close_position code_refactor comment_add comment_delete
    complete-tasks configure_alerts confluence_create_page connect_database container_restart
    control_device conversations_add_message copy_file create-collection create-index
    createConfluencePage createPlaylist create_branch create_calendar_event create_chart
    create_directory create_entities create_filter create_issue create_label create_network
    create_object create_or_update_file create_presentation create_project create_relations
    create_reminder del delete-event delete-many delete-object delete_all_memories
    delete_entities delete_file delete_memory delete_object delete_path delete_row
    deploy_contract deploy_edge_function deployment_scale device_reboot disable_rule disconnect
    dismiss_notification door_lock download_file drop-collection drop-database editJiraIssue
    edit_file email_archive email_forward email_send embedding_delete empty_trash
    emulate_network enable_feature escalate_incident event_cancel event_reschedule expire
    export_pdf extrude_face fact_store file_delete file_move file_upload folder_create
    follow_user fork_repository form_submit forward_message git_add git_checkout git_clone
    git_commit git_create_branch git_init git_merge git_pull git_push git_rebase git_reset
    git_set_working_dir git_tag_create gmail_send_message helm_uninstall hset image_resize
    import_csv index_rebuild init_project insert-documents insert-many insert_after_symbol
    insert_image install_app install_helm_chart instance_terminate invite_user invoice_finalize
    invoice_send issue_close issue_write jira_add_comment jira_add_worklog
    jira_batch_create_issues jira_create_issue jira_link_to_epic jira_transition_issue
    job_cancel job_retry json_set key_press kick_user knowledge_add kubectl_apply
    kubectl_create kubectl_delete kubectl_patch kubectl_rollout kubectl_scale launch_app
    layer_hide lights_off lights_on like_post linear_bulk_update_issues linear_create_issue
    lock_door logout lpush manage_notification_subscription mark_all_notifications_read
    member_remove memory_forget memory_save merge_branch merge_cells merge_pull_request
    message_delete message_pin mint_nft mobile_swipe mobile_tap mobile_type_keys model_train
    modify_email mouse_move move_file move_to_trash mute_user navigate_page new_page nft_mint
    note_create notes_add notion-create-pages notion-duplicate-page notion-move-pages
    notion-update-page object_put object_rotate order_cancel order_place page_publish
    pauseMusic pause_project pin_message pipeline_run place_order play_music
    playwright_iframe_click playwright_navigate playwright_press_key pod_delete pods_delete
    post_publish post_tweet pr_merge press_button protect_document publish_message pull_image
    puppeteer_click puppeteer_navigate push_files qdrant-store queue_purge react_to_message
    reaction_add rebase_branch record_expense record_upsert register_user reject_request
    release_create remember reminder_create remove_container remove_member rename-collection
    rename_symbol reorder_tasks replace_regex repo_fork repo_star request_copilot_review
    rerun_workflow_run reserve_table reset_branch resize_page resources_create_or_update
    respond-to-event restore_project retweet role_assign rotate_object row_insert run_container
    sadd save_issue save_memory scaffold_project scene_save schedule_post scroll_down seek_to
    select_page send-email sendEmail send_transaction service_restart session_start set
    set_cell_value set_material set_orientation set_permissions set_temperature set_volume
    share_file sheet_create sign_transaction sign_up silence_alert skipToNext
    slack_add_reaction slack_post_message slack_reply_to_thread slide_add sms_send snooze_alert
    stake_eth star_repository start_container stop_container store_memory str_replace
    sub_issue_write submit_form submit_pending_pull_request_review subscribe_topic swap_tokens
    symbol_rename tab_close table_drop tag_create take_action tap_on_screen task_update
    tasks_complete terminate_app text_replace thermostat_set ticket_assign ticket_close
    timer_start todoist_complete_task todoist_create_task token_approve track_event
    transfer_tokens transitionJiraIssue trigger_automation turn_off_device turn_on_light
    tv_power_on tweet_post type_text undo_edit unmute_user unstar_repository update-event
    update-many update-tasks update_project update_pull_request_branch upload_file user_ban
    user_invite vacuum_start vector_upsert video_trim vm_reboot vm_start vm_stop vote_poll
    wallet_transfer workflow_trigger write_data_to_excel write_file write_memory zadd
""".split()
READING = """
    accessibility_audit active_alerts analyze_image archived_projects backup_list backup_status
    ban_list block_info block_number bookmarked_posts branch_info browser_snapshot
    browser_take_screenshot build_logs build_status cache_stats calculate charge_details
    check_status closed_tickets code_search collection-schema comment_thread commit_history
    commit_info compare_runs completed_tasks container_inspect contract_abi convert_time
    cost_report count_documents coverage_report crash_report db-stats deleted_items
    deploy_status deployment_info describe_table dns_lookup docker_logs domain_lookup
    download_stats error_report estimate_gas explain explain_code export_status failed_jobs
    fetch_page file_search gas_price_estimate geocode get_balance get_commit
    get_console_message get_current_time get_file_contents get_file_info get_gas_price
    get_issue get_me get_page get_pull_request_diff get_quote get_schema get_swap_quote
    get_symbol_info get_transcript get_user_profile get_weather git_diff git_log git_show
    git_status grammar_check health_check image_search import_status inbox_search index_info
    index_stats inspect_element installed_packages invite_list ip_lookup issue_read job_status
    kubectl_describe kubectl_logs label_list latest_block like_count liked_songs link_preview
    lock_status login_status lookup_ip mail_search market_data member_count memory_recall
    menu_view merge_requests_list message_search mint_info note_search open_issues open_orders
    order_details order_history order_status page_search performance_report ping
    pinned_messages plagiarism_check play_history pods_log pods_top pool_info post_details
    preview_email price_history pull_request_read queue_length queue_status read_file
    read_graph read_multiple_files recall_memory recommended_products record_count
    refund_status related_articles reverse_geocode running_processes saved_articles
    schedule_view scheduled_jobs seo_audit session_info settings_view share_link_info
    shared_files show_config spell_check stake_info starred_repos stash_list
    subscription_details summarize_document swap_quote sync_status tag_list take_snapshot
    test_connection test_report token_info tracking_info trade_history transaction_receipt
    transfer_quote translate_text usage_report user_lookup validate_schema verify_signature
    view_file vote_results watch_list watchlist_get weather_check web_search whoami whois
""".split()
REPLY = {"content": [{"type": "text", "text": '{"colour": "red", "size": 3}'}]}


@pytest.mark.parametrize("tool", ACTING)
def test_a_tool_that_is_named_for_a_deed_reports_it(tool: str) -> None:
    assert read(REPLY, tool).response.response_type == "action"


@pytest.mark.parametrize("tool", READING)
def test_a_tool_that_is_named_for_what_it_tells_gives_it(tool: str) -> None:
    assert read(REPLY, tool).response.response_type == "single"
