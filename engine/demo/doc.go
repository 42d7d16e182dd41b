// Package demo plays short demos of what a broker does on a real one: each in a namespace
// of its own, in memory alone, with a clock that can be turned.
//
//	Parse      a scene from YAML, parsed and checked
//	Library    all scenes: the program's, those of a folder, and added ones
//	Player     running playbacks, each in its namespace
//	Playback   one of them: its step, the results of its checks, its clock
//
// Playbacks do not affect any other namespace: a Playback is always created together with its
// namespace, and the clock that it turns belongs to that alone (broker.ManualClock). Only
// scenes that a user adds to a running server are kept in the server's own namespace, as
// settings, and are loaded when that is opened again.
//
// # Scenes
//
// A scene has entities and steps. A step does something, lets time pass, and states what
// must be true afterwards, which is checked in the broker. The clock stands between steps,
// so that the presenter can take time.
//
//	title: A deadline
//	summary: What nobody takes in time ends in the dead-letter queue.
//	shows: [TTL-S1]
//	minutes: 2
//	entities:
//	  - queue: orders
//	    properties: {DeadLetteringOnMessageExpiration: true}
//	steps:
//	  - caption: A message that lives for thirty seconds.
//	    page: /q/orders
//	    actions:
//	      - send: {to: orders, as: order, body: hello, timeToLive: 30s}
//	      - wait: 40s
//	    expect:
//	      - {text: It is a dead letter., message: order, in: orders/$DeadLetterQueue, reason: TTLExpiredException}
//
// # Languages
//
// A scene is written in English, or in the language that it names, and may have its texts in
// others: all of them, in the order of its own. Names of entities, messages and actors
// stand between backticks, and are the same in all languages. A Playback has no language: its
// page asks for one, with InLanguage.
//
//	languages:
//	  cs:
//	    title: Lhůta
//	    summary: Co si nikdo včas nevyzvedne, skončí ve frontě nedoručených zpráv.
//	    steps:
//	      - caption: Zpráva, která žije třicet sekund.
//	        expect: [Je to nedoručená zpráva.]
//
// INVARIANT: a step is played by one goroutine at a time, and only if it is the one that its
// caller saw as the next.
package demo
