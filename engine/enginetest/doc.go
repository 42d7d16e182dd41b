// Package enginetest tests the rules of package engine from outside.
//
//	generator.go        records with random values in every field, for whatever stores them
//	scenario.go         scenarios in engine/testdata, as text: commands and their results;
//	                    an Executor runs them
//	engine*.go          the Executor that is the engine alone, without a broker
//	comparison.go       an Executor for protocols: each step at an Engine and through the protocol
//	operator.go         at a protocol's broker: commands that are not clients'
//	model*_test.go      the rules written a second time, without the engine
//	walk_test.go        random steps through engine and model side by side
//	turn_test.go        sweeping, commits, rollbacks and restarts among the steps
//	random_test.go      the test, its seeds, and which operation met which state
//
// A walk that fails prints its seed and a minimal list of steps that still fail. Repeat it
// with -walk.seed=N -walk.count=1; run a thousand with -walk.count=1000 (or
// MAYFLY_WALK_SEED and MAYFLY_WALKS).
package enginetest
