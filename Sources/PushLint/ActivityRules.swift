// SPDX-License-Identifier: Apache-2.0

/// The rules for Live Activities and calls. Sources: Apple's "Starting and updating Live Activities with ActivityKit
/// push notifications", and "Responding to VoIP Notifications from PushKit".
let activityRules: [CombinedRule] = [
  (
    .activityWithoutTimestamp,
    { push in
      push.isActivity && push.aps["timestamp"] == nil
        ? [
          push.complaint(
            "event", words: "a push to a Live Activity needs timestamp",
            mend: "write the seconds since 1970: older pushes are ignored")
        ]
        : []
    }
  ),
  (
    .activityWithoutEvent,
    { push in
      push.isActivity && push.aps["event"] == nil
        ? [
          push.complaint(
            "content-state", words: "a push to a Live Activity needs event", mend: "write start, update or end")
        ] : []
    }
  ),
  (
    .activityWithoutState,
    { push in
      push.isActivity && push.aps["content-state"] == nil && push.event != "end"
        ? [
          push.complaint(
            "event", words: "there is no content-state to show",
            mend: "write the object that the app's ContentState decodes")
        ]
        : []
    }
  ),
  (
    .activityStartIncomplete,
    { push in
      guard push.event == "start" else { return [] }
      return ["attributes-type", "attributes", "alert"].filter { push.aps[$0] == nil }.map {
        push.complaint("event", words: "a start needs \($0)", mend: "write it into aps")
      }
    }
  ),
  (
    .activityStartOnly,
    { push in
      guard let event = push.event, event != "start" else { return [] }
      return ["attributes-type", "attributes"].filter { push.aps[$0] != nil }.map {
        push.complaint($0, words: "\($0) is for the event start only", mend: "leave it out")
      }
    }
  ),
  (
    .activityEndOnly,
    { push in
      guard let event = push.event, event != "end", push.aps["dismissal-date"] != nil else { return [] }
      return [
        push.complaint(
          "dismissal-date", words: "dismissal-date is for the event end only", mend: "leave it out, or use stale-date")
      ]
    }
  ),
  (
    .voipShows,
    { push in
      guard push.headers.isVoIP, !push.shown.isEmpty else { return [] }
      return [
        push.complaint(
          "alert", "badge", "sound", words: "a VoIP push shows nothing by itself: the app reports a call",
          mend: "leave it out")
      ]
    }
  ),
]
