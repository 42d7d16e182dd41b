// Package enginetest shows that the rules of package engine are right, from
// outside of it.
//
//	scenario.go         stories in engine/testdata, as text: commands and what they show
//	model*_test.go      the rules written a second time, with nothing of the engine's
//	walk_test.go        random steps through engine and model side by side
//	random_test.go      the test, its seeds, and which operation met which state
//
// A walk that fails prints its seed and the steps that are left when all the
// others are left out. Take it again with -walk.seed=N -walk.count=1; take a
// thousand with -walk.count=1000 (or MAYFLY_WALK_SEED and MAYFLY_WALKS).
package enginetest
