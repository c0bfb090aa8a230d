/** The two lines of the real server: 1.2 is its branch master, 1.3 the branch with validators and pools. */
export type Build = '1.2' | '1.3';

/** What each build says in the header X-API-Version. */
export const API_VERSIONS: Readonly<Record<Build, string>> = { '1.2': '1.2.10', '1.3': '1.3.0' };
