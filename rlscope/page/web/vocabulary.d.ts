// What rlscope/page/vocabulary.py writes into each page as vocabulary.js.
export const CATEGORIES: string[];
export const STAGES: string[];
/** A stage, and the name of its colour. */
export const STAGE_COLOURS: [string, string][];
