"""The verbs in the names of tools, by what a tool does that has them."""

from typing import Final

LISTING: Final = frozenset(
    """list search find browse enumerate query ls glob grep scan discover explore
    autocomplete""".split()
)
LISTING_FIRST: Final = LISTING | {"filter"}
"""The same where they come first: `filter_tables`."""
READING: Final = frozenset(
    """get gets read fetch show describe view display retrieve check count calculate compute convert
    explain validate verify summarize summarise analyze analyse inspect diff compare status
    info tell load peek head tail stat test ping preview resolve translate detect extract
    parse echo think help whoami screenshot snapshot lint review estimate forecast measure
    monitor trace history log logs evaluate rank suggest recommend audit classify predict
    profile lookup whois locate probe sample aggregate correlate recall solve interpret dump
    identify determine diagnose examine investigate roll research scrape geocode decompile
    transcribe""".split()
)
# What these say of themselves decides whether they changed something.
HALF_READING: Final = frozenset("load log resolve test review profile trace".split())
TELLING: Final = frozenset(
    """explain summarize summarise analyze analyse compare review research think evaluate audit
    classify predict investigate transcribe translate answer ask chat summary report analysis
    overview describe""".split()
)
"""What such a tool gives is somebody's words, with whatever lists are in them."""
CHECKING: Final = frozenset(
    """check validate verify test is has can lint audit compare status health ping
    availability""".split()
)
ACTING: Final = frozenset(
    """create add send delete remove update edit set write insert move rename post publish
    start stop reply upload download save put patch merge commit push pull checkout reset
    cancel close reopen archive unarchive restore subscribe unsubscribe append prepend
    replace upsert assign unassign invite kick ban mute pin unpin react approve reject
    submit enable disable toggle activate deactivate install uninstall deploy rollback
    restart kill terminate pause resume clear purge drop truncate import export copy clone
    fork star unstar follow unfollow lock unlock grant revoke register unregister schedule
    trigger book order pay refund transfer mark complete finish init initialize stage
    unstage stash tag click type press navigate scroll hover drag fill select tap swipe
    launch connect disconnect login logout rotate sync refresh record transition link unlink
    attach detach share unshare join leave mkdir rmdir touch rm mv cp apply migrate index reindex
    modify change adjust increment decrement bookmark favorite like dislike vote acknowledge
    escalate dispatch notify forget remember memorize store cache play replay resize reboot
    shutdown watch provision switch turn seek skip shuffle rewind queue enqueue pop lpush
    rpush lpop rpop sadd srem hset hdel zadd zrem expire incr decr del flush configure setup emulate
    focus zoom paste cut inject broadcast forward accept decline snooze remind comment annotate
    highlight split group clean cleanup prune vacuum repair fix recover rebuild recreate reload
    rerun retry resend reassign reorder reschedule undo redo revert promote demote suspend block
    allow sign mint swap stake withdraw deposit buy sell trade purchase charge capture ship fulfill
    redeem claim place
    upvote downvote rate mount unmount print arm dim spawn abort interrupt scale
    drain cordon evict expose rollout label upgrade downgrade bump release ingest train teach
    track flag dismiss triage delegate tweet retweet backup zip unzip compress decompress duplicate
    mirror symlink chmod chown wipe erase empty bootstrap scaffold define reserve enroll signup
    authenticate authorize pair bind wait sleep go goto visit back input choose confirm handle
    expect defer postpone perform act
    destroy discard expunge trash void settle reconcile finalize conclude quit exit
    allocate deallocate reallocate populate propagate seed prioritize organize customize optimize
    synchronize impersonate invalidate extend renew instantiate initiate
    borrow lend repay liquidate burn wrap unwrap
    hide unhide maximize minimize crop trim boot wake hibernate quarantine isolate
    announce moderate nudge respond hangup speak rewrite overwrite override refactor
    pick grab equip craft rebase squash protect extrude silence pack unpack operate
    advance crt upd persist alter amend distribute regenerate consolidate decommission
    defragment delist deprecate establish materialize mend mitigate mutate offload onboard relocate
    remap reposition retire retract revive shelve summon supersede throttle tweak whitelist
    blacklist allowlist denylist psubscribe xadd xack xdel lrem fulfil""".split()
)
# Nouns, adjectives and prepositions as often as verbs: they say what a tool does only where they
# come first.
EITHER: Final = frozenset(
    """order tag link index record like set type star store share build commit pull post book
    fork select stage press fill mark transfer cache schedule lock vote stash queue watch
    import export label reset match change branch merge patch clone pin rate track flag group
    comment play turn split block place trade charge release claim print mirror backup sign back go
    input new bump empty scale cut ship mint stake reserve
    allow capture swap focus sleep
    bookmark favorite tweet purchase deposit transition login signup switch touch trash seed void
    extend wrap burn pick trim override exit use""".split()
)
DEED_NOUNS: Final = frozenset(
    """order post tag label link index queue lock cache share comment vote charge block print merge
    build commit backup schedule trade login transfer swap release stake mint import export sync
    refund ban invite deploy download upload purchase deposit install watch play track""".split()
)
"""Verbs that are the names of what is done as well."""
CHANGING: Final = frozenset(
    """set update change edit create add delete remove clear reset mark send submit write save
    modify toggle insert upsert put patch publish export import post share upload
    advance""".split()
)
"""Verbs that have an object, whatever it is: `update_status`."""
TOLD: Final = frozenset(
    """details detail info history stats statistics status count metrics progress preview
    mapping""".split()
)
"""Nouns at the end of a name that say that something is told, unless it is changed."""
TITLES: Final = frozenset("guide overview glossary help".split())
"""The same, unless a verb comes first that is no noun: `record_guide`, but `sync_catalog`."""
HEADS: Final = TOLD | frozenset(
    "list results length number summary report quote thread logs".split()
)
"""The same after what is the name of a deed: `refund_status`, `ban_list`."""
LAST: Final = frozenset(
    """pin lock set reset mark fill press transfer mint merge fork star store trim scale clone share
    import export claim reserve on off pull""".split()
)
"""Verbs also at the end of a name, after what they are done to: `thermostat_set`."""
ENDING: Final = frozenset("add create delete remove insert append upsert write".split())
"""Verbs at the end of a name, whatever noun before them is a verb as well: `research_add`."""
VAGUE: Final = frozenset("action control manage".split())
"""They act, where neither another word nor an argument says more: `device_control`."""
FIRST: Final = frozenset(
    """set mark fill select reset press share lock pin import export star link tag label
    merge change bump allow reserve use switch extend override pick trim wrap void""".split()
)
"""Verbs where they come first, whatever noun comes after them: `set_status`."""
LED: Final = frozenset("set reset mark fill press".split())
"""Verbs also after the name of what they are done to or by: `hue_set_light`."""
LED_BY_SERVICE: Final = LED | frozenset(
    """commit pull merge clone scale patch store transition type select post pin lock share import
    export switch touch bookmark place capture swap focus fork star link new""".split()
)
"""Verbs also after the name of a program or a service: `git_commit`, `slack_post_message`."""
SERVICES: Final = frozenset(
    """git github gitlab bitbucket kubectl k8s helm docker browser playwright puppeteer selenium
    chrome page tab mobile android ios adb slack discord telegram whatsapp teams jira confluence
    linear notion obsidian trello asana todoist airtable shopify stripe hubspot salesforce zendesk
    sentry grafana datadog aws gcp azure s3 spotify youtube twitter reddit figma blender unity
    tmux excel word sheets drive gmail outlook calendar redis mongo mongodb postgres mysql sqlite
    supabase neon firebase qdrant chroma pinecone milvus json kafka chat""".split()
)
NOUNS: Final = {
    "suggest": "suggestion",
    "recommend": "recommendation",
    "predict": "prediction",
    "classify": "classification",
}
"""What comes of a verb, where it is not called by the verb itself."""
REFUSING: Final = frozenset(
    "deny reject refuse block decline disable fail expire failed denied rejected blocked".split()
)
"""Of a tool that is named for them, they report what was done."""
FAULTS: Final = frozenset("error exception failure diagnostic problem crash".split())
"""A tool that is named for them tells of those of others."""
MAKING: Final = frozenset(
    """generate render draw build make compose design produce transform format encode
    decode compile plan draft encrypt decrypt hash random simulate visualize visualise plot
    illustrate sketch sort normalize normalise sanitize sanitise strip shorten reverse combine
    decompose beautify minify prettify tokenize slugify capitalize uppercase lowercase escape
    unescape serialize deserialize simplify factor factorize differentiate interpolate approximate
    round""".split()
)
"""They give back what they made, or report on it."""
WORDED: Final = frozenset(
    """regex formula argument query prompt url uri expression pattern string message command filter
    template context plan schema sentence text json xml style route""".split()
)
"""What is given when it is built: `build_query`, not `build_image`."""
RUNNING_NOUNS: Final = frozenset("process call request".split())
"""What is run, as often, where another verb comes after them: `process_get_output`."""
COMPUTING: Final = frozenset("roll calculate compute solve compare analyze analyse".split())
"""They come to one result, whatever it is made of."""
EXPORTING: Final = frozenset({"export", "capture"})
"""They give back what they made, or report where it is."""
RUNNING: Final = frozenset("run execute exec call invoke process do eval request".split())
SHELLS: Final = frozenset(
    """command commands cmd shell bash terminal code script applescript python javascript
    js exec eval http curl""".split()
)
"""What is run gives its output."""
_PREFIXES: Final = ("un", "re", "de", "dis", "auto", "bulk", "multi", "force")


def may_act(words: tuple[str, ...]) -> bool:
    """Whether a word of a name could be a verb that changes something."""
    return any(word in EITHER or is_action_verb(word) for word in words)


def is_action_verb(word: str) -> bool:
    """Whether a word is a verb that changes something, also with `un` or `bulk` before it."""
    if word in ACTING:
        return True
    for before in _PREFIXES:
        rest = word.removeprefix(before)
        if rest != word and len(rest) > 2 and rest in ACTING and rest not in _NOT_AFTER:
            return True
    return False


_NOT_AFTER: Final = frozenset("port act cord sign trace".split())
