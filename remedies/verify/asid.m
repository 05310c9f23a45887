-- SPDX-License-Identifier: MIT
--
-- The state machine of asid.h, for rumur: a second opinion on asid.pml by another checker, in which
-- CPUs, address spaces and identifiers are scalarsets, so that rumur itself renames them.
--
-- Written from asid.h, not from asid.pml, and finer in two places: a translation is filled in a step of
-- its own, at any moment (speculation) or never, and a new generation looks at one CPU a step, while
-- others switch. Any address space is the one whose translation is taken away.
--
-- remedies/verify/rumur.py changes the constants. Weaker machines, which must fail: PLAIN_STORE (the
-- active id is stored without compare and exchange), NO_PARK (with SHARED), NO_RESERVE, NO_FLUSH, UNMAP_LATE
-- (the identifier is looked up before the translation is taken away).

const
	CPUS: 2;
	TASKS: 4;
	IDS: 3; -- besides the reserved one
	GENERATIONS: 3;
	SHARED: 0;
	UNMAP: 1;
	PLAIN_STORE: 0;
	NO_PARK: 0;
	NO_RESERVE: 0;
	NO_FLUSH: 0;
	UNMAP_LATE: 0;

type
	Cpu: scalarset(CPUS);
	Task: scalarset(TASKS);
	Number: scalarset(IDS);
	Round: 0 .. GENERATIONS; -- 0: no id
	Place: enum { runs, looked, waits, scans, installs, stopped };
	Unmapping: enum { there, too_soon, taken, looks_up, gone };
	-- An id; its number is undefined where its round is 0.
	Id: record
		round: Round;
		number: Number;
	end;

var
	round: Round;
	used: array [Number] of boolean;
	locked: boolean;
	place: array [Cpu] of Place;
	task: array [Cpu] of Task; -- that is switched to; undefined while it runs
	id: array [Cpu] of Id;
	active: array [Cpu] of Id;
	reserved: array [Cpu] of Id;
	must_flush: array [Cpu] of boolean;
	scanned: array [Cpu] of boolean;
	-- What the base register has: undefined where it is parked, and at first.
	loaded: array [Cpu] of Task;
	loaded_number: array [Cpu] of Number;
	context: array [Task] of Id;
	-- The address space whose translation the TLB holds; with SHARED that of all CPUs is kept alike.
	tlb: array [Cpu] of array [Number] of Task;
	unmapping: Unmapping;
	victim: Task;
	victim_number: Number;

procedure set_id(var to_id: Id; from: Id);
begin
	to_id.round := from.round;
	if from.round = 0 then
		undefine to_id.number;
	else
		to_id.number := from.number;
	end;
end;

procedure clear_id(var which: Id);
begin
	which.round := 0;
	undefine which.number;
end;

function is_same(left: Id; right: Id): boolean;
begin
	return left.round = right.round & left.round != 0 & left.number = right.number;
end;

-- has_translation - whether the tables of an address space still have it
function has_translation(space: Task): boolean;
begin
	return unmapping = there | unmapping = too_soon | victim != space;
end;

-- holds_other - whether the TLB of a CPU has another address space's translation
function holds_other(cpu: Cpu; number: Number; space: Task): boolean;
begin
	return !isundefined(tlb[cpu][number]) & tlb[cpu][number] != space;
end;

procedure fill(cpu: Cpu; number: Number; space: Task);
begin
	for other: Cpu do
		if SHARED = 1 | other = cpu then
			tlb[other][number] := space;
		end;
	end;
end;

procedure flush(cpu: Cpu);
begin
	for other: Cpu do
		if SHARED = 1 | other = cpu then
			for number: Number do
				undefine tlb[other][number];
			end;
		end;
	end;
end;

-- has_free - whether a new id needs no new generation
function has_free(): boolean;
begin
	return exists number: Number do !used[number] end;
end;

-- may_keep - whether the address space keeps its old identifier in this generation
function may_keep(old: Id): boolean;
begin
	return old.round != 0 &
	       ((exists cpu: Cpu do is_same(reserved[cpu], old) end) | !used[old.number]);
end;

-- settle - the id is active: flush where a generation began, let the lock go
procedure settle(cpu: Cpu; number: Number);
var
	old: Id;
begin
	set_id(old, context[task[cpu]]);
	for other: Cpu do
		if is_same(reserved[other], old) & old.round != round then
			reserved[other].round := round;
		end;
	end;
	used[number] := true;
	context[task[cpu]].round := round;
	context[task[cpu]].number := number;
	set_id(id[cpu], context[task[cpu]]);
	if must_flush[cpu] then
		must_flush[cpu] := false;
		flush(cpu);
	end;
	set_id(active[cpu], id[cpu]);
	locked := false;
	place[cpu] := installs;
end;

startstate "nothing runs"
begin
	round := 1;
	locked := false;
	unmapping := there;
	undefine victim;
	undefine victim_number;
	for number: Number do
		used[number] := false;
	end;
	for cpu: Cpu do
		place[cpu] := runs;
		undefine task[cpu];
		clear_id(id[cpu]);
		clear_id(active[cpu]);
		clear_id(reserved[cpu]);
		must_flush[cpu] := false;
		scanned[cpu] := false;
		undefine loaded[cpu];
		undefine loaded_number[cpu];
		for number: Number do
			undefine tlb[cpu][number];
		end;
	end;
	for space: Task do
		clear_id(context[space]);
	end;
end;

ruleset cpu: Cpu; space: Task do
	rule "switch: park, and look"
		place[cpu] = runs
	==>
	begin
		task[cpu] := space;
		if SHARED = 1 & NO_PARK = 0 then
			undefine loaded[cpu];
			undefine loaded_number[cpu];
		end;
		set_id(id[cpu], context[space]);
		if active[cpu].round != 0 & id[cpu].round = round then
			place[cpu] := looked;
		else
			clear_id(id[cpu]);
			place[cpu] := waits;
		end;
	end;
end;

ruleset cpu: Cpu do
	rule "switch without the lock"
		place[cpu] = looked
	==>
	begin
		if active[cpu].round != 0 | PLAIN_STORE = 1 then
			set_id(active[cpu], id[cpu]);
			place[cpu] := installs;
		else
			clear_id(id[cpu]);
			place[cpu] := waits;
		end;
	end;

	rule "the id is of this generation"
		place[cpu] = waits & !locked & context[task[cpu]].round = round
	==>
	begin
		settle(cpu, context[task[cpu]].number);
	end;

	rule "the identifier is kept"
		place[cpu] = waits & !locked & context[task[cpu]].round != round &
		may_keep(context[task[cpu]])
	==>
	begin
		settle(cpu, context[task[cpu]].number);
	end;

	rule "a generation begins"
		place[cpu] = waits & !locked & context[task[cpu]].round != round &
		!may_keep(context[task[cpu]]) & !has_free()
	==>
	begin
		if round = GENERATIONS then
			place[cpu] := stopped; -- the bound of the model
			undefine task[cpu];
		else
			locked := true;
			round := round + 1;
			for number: Number do
				used[number] := false;
			end;
			place[cpu] := scans;
		end;
	end;

	rule "install"
		place[cpu] = installs
	==>
	begin
		place[cpu] := runs;
		loaded[cpu] := task[cpu];
		loaded_number[cpu] := id[cpu].number;
		undefine task[cpu];
		clear_id(id[cpu]);
	end;

	rule "speculation fills the TLB"
		!isundefined(loaded[cpu]) & has_translation(loaded[cpu]) &
		(isundefined(tlb[cpu][loaded_number[cpu]]) |
		 tlb[cpu][loaded_number[cpu]] != loaded[cpu])
	==>
	begin
		fill(cpu, loaded_number[cpu], loaded[cpu]);
	end;
end;

ruleset cpu: Cpu; number: Number do
	rule "a new identifier"
		place[cpu] = waits & !locked & context[task[cpu]].round != round &
		!may_keep(context[task[cpu]]) & !used[number]
	==>
	begin
		settle(cpu, number);
	end;

	rule "the first identifier of a generation"
		place[cpu] = scans & (forall other: Cpu do scanned[other] end) & !used[number]
	==>
	begin
		for other: Cpu do
			scanned[other] := false;
		end;
		settle(cpu, number);
	end;
end;

ruleset cpu: Cpu; other: Cpu do
	rule "reserve what a CPU runs"
		place[cpu] = scans & !scanned[other]
	==>
	begin
		scanned[other] := true;
		if active[other].round != 0 then
			set_id(reserved[other], active[other]);
			clear_id(active[other]);
		end;
		if NO_RESERVE = 0 & reserved[other].round != 0 then
			used[reserved[other].number] := true;
		end;
		if NO_FLUSH = 0 then
			must_flush[other] := true;
		end;
	end;
end;

ruleset space: Task do
	rule "unmap: take the translation out, or look too soon"
		UNMAP = 1 & unmapping = there & context[space].round != 0
	==>
	begin
		victim := space;
		if UNMAP_LATE = 1 then
			victim_number := context[space].number;
			unmapping := too_soon;
		else
			unmapping := taken;
		end;
	end;
end;

rule "unmap: take the translation out, too late"
	unmapping = too_soon
==>
begin
	unmapping := looks_up;
end;

rule "unmap: look the identifier up"
	unmapping = taken
==>
begin
	victim_number := context[victim].number;
	unmapping := looks_up;
end;

rule "unmap: invalidate"
	unmapping = looks_up
==>
begin
	for cpu: Cpu do
		if !isundefined(tlb[cpu][victim_number]) & tlb[cpu][victim_number] = victim then
			undefine tlb[cpu][victim_number];
		end;
	end;
	undefine victim_number;
	unmapping := gone;
end;

invariant "a TLB has nothing of another address space under the identifier that is loaded"
	forall cpu: Cpu do
		isundefined(loaded[cpu]) | !holds_other(cpu, loaded_number[cpu], loaded[cpu])
	end;

invariant "what was taken away is not used"
	unmapping != gone |
	forall cpu: Cpu do
		isundefined(loaded[cpu]) | place[cpu] != runs | loaded[cpu] != victim |
		isundefined(tlb[cpu][loaded_number[cpu]])
	end;

invariant "a generation begins with a free identifier"
	forall cpu: Cpu do
		place[cpu] != scans | (exists other: Cpu do !scanned[other] end) | has_free()
	end;
