// What rlscope/page/vocabulary.py writes into each page as vocabulary.js.
/** The parts of a process's life, in order of time but for evaluation; LOOP is one of them. */
export const LIFE_PARTS: string[];
export const LOOP: string;
export const CATEGORIES: string[];
export const STAGES: string[];
/** A stage, and the name of its colour. */
export const STAGE_COLOURS: [string, string][];
