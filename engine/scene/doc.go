// Package scene has short plays about what a broker does, which are played on a
// real one: each in a namespace of its own, in memory alone, with a clock that can
// be turned.
//
//	Parse     a scene as YAML, understood and checked
//	Library   the scenes there are: those of the program, of a folder, and others
//	Stages    plays that are under way, each in its namespace
//	Play      one of them: its step, what came of it, its clock
//
// Nothing of this reaches any other namespace: a Play is only ever made together
// with its namespace, and the clock that it turns is of that alone
// (broker.Machine). Only what somebody adds to a server that runs is kept in the
// server's own namespace, as settings, and is there again when that is opened.
//
// # Scenes
//
// A scene is entities, and steps. A step does something, lets time pass, and says
// what must be so afterwards, which is looked for in the broker. The clock stands
// between steps, so that whoever shows a scene can take his time.
//
//	title: A deadline
//	teaches: What nobody takes in time ends in the dead-letter queue.
//	shows: [TTL-S1]
//	minutes: 2
//	entities:
//	  - queue: orders
//	    with: {DeadLetteringOnMessageExpiration: true}
//	steps:
//	  - say: A message that lives for thirty seconds.
//	    look: /q/orders
//	    do:
//	      - send: {to: orders, as: order, body: hello, ttl: 30s}
//	      - wait: 40s
//	    then:
//	      - {text: It is a dead letter., message: order, in: orders/$DeadLetterQueue, reason: TTLExpiredException}
//
// # Languages
//
// A scene is written in English, or in what language says, and can have its texts in
// others: all of them, in the order of its own. Names of entities, messages and whoever
// does something stand between backticks, and are the same in all. A Play has no
// language: who shows it asks for one, by In.
//
//	languages:
//	  cs:
//	    title: Lhůta
//	    teaches: Co si nikdo včas nevyzvedne, skončí ve frontě nedoručených zpráv.
//	    steps:
//	      - say: Zpráva, která žije třicet sekund.
//	        then: [Je to nedoručená zpráva.]
//
// INVARIANT: a step is played by one goroutine at a time, and only if it is the one
// that whoever asked for it saw as the next.
package scene
