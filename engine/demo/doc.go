// Package demo plays scenes, short demonstrations of what a broker does, on a real broker. Each
// is played in a namespace of its own, which is only in memory and has a manual clock.
//
//	Parse      parses and checks a scene, which is YAML
//	Library    all scenes: built-in ones, those of a folder, and added ones
//	Player     the running playbacks
//	Playback   one playback: its step, the results of its checks, its clock
//
// Playbacks do not affect any other namespace: a Playback is always created together with its
// namespace, and it sets the clock of that namespace only (broker.ManualClock). Only
// scenes that a user adds to a running server are stored in the server's own namespace, as
// settings, and are loaded when that is opened again.
//
// # Scenes
//
// A scene has entities and steps. A step performs actions, lets time pass, and states what
// must be true afterwards, which is checked in the broker. The clock is stopped between
// steps, so that the presenter can take time.
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
// A scene is written in English, or in the language that it names, and may have translations. A
// translation has all texts of the scene, in the same order. Names of entities, messages and
// actors are in backticks, and are the same in all languages. A Playback has no language: a page
// that shows it chooses one, with InLanguage.
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
