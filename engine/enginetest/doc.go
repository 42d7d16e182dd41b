// Package enginetest shows that the rules of package engine are right, from
// outside of it.
//
//	draw.go             records with random values in every field, for whatever stores them
//	scenario.go         stories in engine/testdata, as text: commands and what they show;
//	                    an Executor runs them
//	engine*.go          the Executor that is the engine alone, without a broker
//	beside.go           an Executor for doors: each step at an Engine and through the door
//	house.go, clerk.go  at a door's broker, what no client does, and what clients of other
//	                    doors do
//	model*_test.go      the rules written a second time, with nothing of the engine's
//	walk_test.go        random steps through engine and model side by side
//	turn_test.go        sweeping, commits, rollbacks and restarts among the steps
//	random_test.go      the test, its seeds, and which operation met which state
//
// A walk that fails prints its seed and the steps that are left when all the
// others are left out. Take it again with -walk.seed=N -walk.count=1; take a
// thousand with -walk.count=1000 (or MAYFLY_WALK_SEED and MAYFLY_WALKS).
package enginetest
